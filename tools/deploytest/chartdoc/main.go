// Command chartdoc writes the README of charts/askbus: the table of values from
// the descriptions of values.schema.json and the defaults of values.yaml. It also
// copies the alerts and the dashboard of deploy into the chart, because a chart
// cannot read files outside.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

type schema struct {
	Ref         string            `json:"$ref"`
	Description string            `json:"description"`
	Properties  map[string]schema `json:"properties"`
	Items       *schema           `json:"items"`
	Enum        []any             `json:"enum"`
	Defs        map[string]schema `json:"$defs"`
}

const head = `# The chart of askbus

<!-- Written by "go -C tools/deploytest run ./chartdoc" (make generate) from values.schema.json and values.yaml. Do not edit. -->

<!-- not run: needs Kubernetes; hack/kube-drill runs it under faults -->
` + "```sh" + `
helm install askbus charts/askbus                            # one pod with everything, and its volume
helm install askbus charts/askbus --set shape=cluster        # three servers, brokers, web and gateway
helm test askbus                                             # asks and answers for real
` + "```" + `

[docs/operations.md](../../docs/operations.md) says how to install and scale, and what was measured;
[docs/compatibility.md](../../docs/compatibility.md) says how to upgrade.

The server, the broker, web, gateway and each responder may also set values of every pod. Their affinity, nodeSelector,
podAnnotations, podLabels, priorityClassName, resources, terminationGracePeriodSeconds and tolerations replace those of
the top level; their extraEnv, extraVolumes and extraVolumeMounts are added to them.

| value | default | what it sets |
|---|---|---|
`

func main() {
	dir := "../../charts/askbus"
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	text, err := readme(dir)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "README.md"), []byte(text), 0o644) //nolint:gosec // a document
	}
	for to, from := range copied {
		if err != nil {
			break
		}
		var data []byte
		if data, err = os.ReadFile(filepath.Join("../../deploy", from)); err == nil {
			err = errors.Join(os.MkdirAll(filepath.Join(dir, "files"), 0o755), os.WriteFile(filepath.Join(dir, "files", to), data, 0o644)) //nolint:gosec // documents
		}
	}
	if err != nil {
		log.Fatal(err)
	}
}

// copied are the files of the chart that are those of deploy.
var copied = map[string]string{"alerts.yaml": "prometheus/alerts.yaml", "askbus.json": "grafana/askbus.json"} //nolint:gochecknoglobals // a constant table

// readme returns the chart's README.
func readme(dir string) (string, error) {
	var s schema
	var values map[string]any
	data, err := os.ReadFile(filepath.Join(dir, "values.schema.json")) //nolint:gosec // a directory that its user names
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		return "", err
	}
	if data, err = os.ReadFile(filepath.Join(dir, "values.yaml")); err == nil { //nolint:gosec // as above
		err = yaml.Unmarshal(data, &values)
	}
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(head)
	rows(&b, s.Defs, "", s, values)
	return b.String(), nil
}

// rows writes the rows of an object's properties, sorted by name.
func rows(b *strings.Builder, defs map[string]schema, prefix string, s schema, values map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		if strings.HasPrefix(p.Ref, "#/properties/") {
			continue // a role's own value of one of the top level, as the head says
		}
		path, value := prefix+name, values[name]
		def := defs[strings.TrimPrefix(p.Ref, "#/$defs/")]
		props := p.Properties
		if len(props) == 0 && name != "resources" {
			props = def.Properties
		}
		if p.Description != "" {
			if inner, _ := value.(map[string]any); len(props) == 0 || len(inner) == 0 {
				fmt.Fprintf(b, "| `%s` | %s | %s |\n", path, shown(value), strings.ReplaceAll(p.Description, "|", "\\|"))
			} else {
				fmt.Fprintf(b, "| `%s` | | %s |\n", path, strings.ReplaceAll(p.Description, "|", "\\|"))
			}
		}
		if p.Items != nil && (name == "responders" || name == "remotes") {
			rows(b, defs, path+"[].", *p.Items, nil)
		} else if len(props) > 0 && (prefix == "" || value != nil || name == "scaling" || name == "natsJetStream") {
			inner, _ := value.(map[string]any)
			rows(b, defs, path+".", schema{Properties: props}, inner)
		}
	}
}

// shown formats a default value for the table.
func shown(v any) string {
	if v == nil {
		return ""
	}
	data, err := json.Marshal(v)
	if err != nil || string(data) == `""` {
		return ""
	}
	return "`" + strings.Trim(string(data), `"`) + "`"
}
