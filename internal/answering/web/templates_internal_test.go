package web

import (
	"testing"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/internal/testkit/templatetest"
	"github.com/askbus/askbus/pkg/card"
)

// Each template that the inbox executes, with what it gets.
func TestTemplatesSelectOnlyFields(t *testing.T) {
	t.Parallel()
	a, err := loadAssets()
	if err != nil {
		t.Fatal(err)
	}
	roots := map[string]any{
		"page": page{}, "part": page{}, "entry": &entry{}, "done": &card.End{}, "plain": plainPage{}, "history": historyPage{}, "bulk": bulkPage{}, "waiting": waitingPage{}, "away": awayPage{}, "chats": chatsPage{},
		"setup": setupPage{}, "signin": signInView{}, "join": joinView{}, "confirm": confirmPage{}, "terminal": terminalView{}, "find": findView{},
	}
	for _, p := range parts() {
		roots[p.name] = &frame{}
	}
	funcs := localized{lang.Of("")}.functions(a, a.scripts())
	templatetest.Check(t, template.Must(template.New("").Funcs(funcs).ParseFS(files, "templates/*.html")), funcs, roots)
}
