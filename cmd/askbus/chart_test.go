package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/askbus/askbus/internal/asking/mcpserver"
)

// In the shape cluster the Ingress and the HTTPRoute send every path of the
// gateway to it, and the others to the inbox.
func TestTheChartRoutesThePathsOfTheGateway(t *testing.T) {
	t.Parallel()
	template, err := os.ReadFile("../../charts/askbus/templates/exposure.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var routed []string
	for _, m := range regexp.MustCompile(`"(/[^"/][^"]*)"`).FindAllSubmatch(template, -1) {
		routed = append(routed, string(m[1]))
	}
	for _, path := range append(gateway.Paths(), mcpserver.Path, mcpserver.MetadataPath) {
		if !slices.ContainsFunc(routed, func(prefix string) bool { return path == prefix || strings.HasPrefix(path, prefix+"/") }) {
			t.Errorf("%s is not sent to the gateway, only %q are", path, routed)
		}
	}
}
