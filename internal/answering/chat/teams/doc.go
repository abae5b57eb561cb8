// Package teams is the surface in Microsoft Teams: an Adaptive Card for each ask, over the Bot Connector.
//
// Teams delivers what people do to [App.Handler], signed by the connector; any replica serves any of it. A bot can
// neither search for its messages nor give them a key, so a card gets its controls when the bus knows where it is
// ([responder.Opener]). What an agent writes stands in text runs, which have no markup, so nothing of it is a link or a
// mention of ours. What a card sends back comes from somebody's machine: it is checked against the ask's receipt, which
// says in which conversation the ask was posted.
package teams
