package panel

import (
	"testing"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/internal/testkit/templatetest"
)

func TestTheTemplateSelectsOnlyFields(t *testing.T) {
	t.Parallel()
	funcs := functions(lang.Of(""))
	set := template.Must(template.New("embed.html").Funcs(funcs).ParseFS(static, "static/embed.html"))
	templatetest.Check(t, set, funcs, map[string]any{"embed.html": map[string]any{}})
}
