// Package sshserver serves a screen over SSH to people with an authorized key, and nothing else: no
// shell, no command, no subsystem, no forwarding.
//
// It decides whose a key is, how many connections there may be and how often a login may be tried.
// It leaves the screen to its caller. It promises that every served person has proven possession of
// a key that was in the key file at the login, and is served no longer than it stays there, for the
// same person. It uses x/crypto/ssh, because wish has no version for the terminal library of package
// tui.
package sshserver
