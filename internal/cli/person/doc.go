// Package person has the commands of the people who answer: tui, next, answer,
// list, status, login, logout.
package person
