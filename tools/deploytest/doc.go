// Package deploytest checks the files for deployment. It renders the chart with
// Helm's engine and decodes it into the types of Kubernetes, and loads the
// compose file with compose's loader. A misspelt field is an error there; kubectl
// would drop it silently. It also checks that ports, users and paths agree, and
// runs what make builds: the binary, and the files of the image in a chroot.
//
// It is a separate module, because Helm and the Kubernetes types are large and
// must not raise the version of anything that we ship or lint with.
package deploytest
