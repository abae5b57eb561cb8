package card

import (
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// Destructive names the chosen options that are destructive, in one line; "" if none is. A surface sends them only after a
// second, different key or click.
func (c *Card) Destructive(answers []ask.Answer) string {
	var labels []string
	for _, o := range c.ask.Destructive(answers) {
		label, _ := o.Caption()
		labels = append(labels, InlinePlain(line(label)))
	}
	return ask.Clip(strings.Join(labels, c.Say(", ")), 120)
}
