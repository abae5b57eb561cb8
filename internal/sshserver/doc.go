// Package sshserver gives people with a key a screen over SSH, and nothing
// else: no shell, no command, no subsystem, no forwarding.
//
// It decides who a key is, how many may come and how often they may try. What
// they see is for its caller. It promises that who is served has proven to hold
// a key of the file of keys, as that file was at the login.
package sshserver
