// Package push notifies phones and browsers whose page is closed, by web push (RFC 8030, 8291,
// 8292). It is a responder type on the kit's Serve, so that only one of several replicas sends a
// notice.
//
// It decides which subscriptions an ask notifies and what a notice says. It leaves answers to the
// inbox, to which the notice links. The inbox stores subscriptions in shared state ([Store]). A
// subscription that its push service reports as gone is deleted.
//
// It promises to call only hosts of push services; to notify a subscription only of asks that its
// person may answer and that are newer than the subscription; and to take no work while there are
// no subscriptions.
//
// Only hosts of known push services, and those in ASKBUS_PUSH_HOSTS, are called, because the URL
// comes from a browser and so from anybody who is signed in; redirects are not followed. A choice in
// a notice is posted to the inbox with the browser's cookie, so it is the inbox's answer, with its
// proof and its checks. Being subscribed is not being present: require_responder is refused when
// everybody only has a phone.
package push
