// Package board is for live screens, such as a web page or a terminal: it follows what is pending on the bus.
//
// A [Board] is a replica of the pending asks that serves any number of viewers: their queue in order, their
// filters, what they put off and handed over, and who is looking at an ask. [Watch] only tells what comes and
// ends. People answer through the responder that both are made of.
//
// A board and a watch lose no ask and no outcome through reconnects, restarts and missed messages: after each
// they read everything again. They decide nothing: what is shown may be older than what the broker knows.
package board
