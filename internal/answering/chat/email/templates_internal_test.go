package email

import (
	"testing"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/internal/testkit/templatetest"
)

func TestTemplatesSelectOnlyFields(t *testing.T) {
	t.Parallel()
	funcs := functions(lang.Of(""))
	set := template.Must(template.New("").Funcs(funcs).ParseFS(files, "templates/*.html"))
	templatetest.Check(t, set, funcs, map[string]any{"mail.html": &letter{}, "outcome.html": &ending{}, "digest.html": &digest{}, "page.html": &sheet{}})
}
