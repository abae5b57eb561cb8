package slack

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/askbus/askbus/internal/process/lang"
	slackapi "github.com/slack-go/slack"
)

// Limits of a whole message. Slack does not document the one for all blocks together; we measured
// about 13,200 bytes.
const (
	maxBlocks      = 50
	maxViewBlocks  = 100
	maxBlocksBytes = 12_000
	maxText        = 3_000 // of a post and of the stricter update
)

// fit trims a card to Slack's limits. Every call goes through it. It keeps the interactive elements
// and shortens texts, the longest first.
func fit(c content) content {
	c.Text = clipBytes(c.Text, maxText)
	if c.Text == "" {
		c.Text = lang.Of(lang.English).Say("A question waits.")
	}
	c.Blocks = fitBlocks(c.Blocks, maxBlocks, maxBlocksBytes)
	return c
}

// fitView is fit for the blocks of a modal or a Home tab.
func fitView(blocks []slackapi.Block) []slackapi.Block {
	return fitBlocks(blocks, maxViewBlocks, 100_000)
}

func fitBlocks(blocks []slackapi.Block, most, mostBytes int) []slackapi.Block {
	blocks = slices.Clone(blocks)
	for len(blocks) > most {
		at := lastWords(blocks)
		if at < 0 {
			blocks = blocks[:most]
			break
		}
		blocks = slices.Delete(blocks, at, at+1)
	}
	total := size(blocks)
	for total > mostBytes {
		at, text := longestWords(blocks)
		if text != nil && len(text.Text) > 200 {
			section := blocks[at : at+1]
			total -= size(section)
			text.Text = clip(text.Text, len([]rune(text.Text))*3/4)
			total += size(section)
			continue
		}
		if at = lastWords(blocks); at < 0 {
			break
		}
		total -= size(blocks[at : at+1])
		blocks = slices.Delete(blocks, at, at+1)
	}
	return blocks
}

// size returns the bytes of the blocks as JSON, those between them included.
func size(blocks []slackapi.Block) int {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(blocks) != nil {
		return 0
	}
	return b.Len() - len("[]")
}

// lastWords returns the index of the last block that contains only text.
func lastWords(blocks []slackapi.Block) int {
	for i, b := range slices.Backward(blocks) {
		switch b := b.(type) {
		case *slackapi.SectionBlock:
			if b.Accessory == nil {
				return i
			}
		case *slackapi.ContextBlock, *slackapi.HeaderBlock, *slackapi.DividerBlock, *slackapi.RichTextBlock:
			return i
		}
	}
	return -1
}

// longestWords returns the longest text of all sections, and the index of its block. Slack closes a truncated code
// fence at the end of its text.
func longestWords(blocks []slackapi.Block) (at int, longest *slackapi.TextBlockObject) {
	for i, b := range blocks {
		if s, ok := b.(*slackapi.SectionBlock); ok && s.Text != nil && (longest == nil || len(s.Text.Text) > len(longest.Text)) {
			at, longest = i, s.Text
		}
	}
	return at, longest
}
