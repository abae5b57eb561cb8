// Package deploytest reads what this repository ships for deployment as those
// read it who run it: the chart through Helm's own engine and into the typed
// objects of Kubernetes, the compose file through compose's own loader. A field
// that is spelt wrong is an error there, while kubectl would drop it silently.
// What no reader checks (that ports, users and paths agree) is checked here, and
// what make builds is run: the binary, and the files of the image as a root of
// their own.
//
// It is a module of its own, because Helm and the Kubernetes types are large and
// must not raise the version of anything that we ship or lint with.
package deploytest
