package slack

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/askbus/askbus/internal/lang"
	slackapi "github.com/slack-go/slack"
)

// Limits of a whole message. The one of all blocks together is not documented;
// it was met at about 13,200 bytes.
const (
	maxBlocks      = 50
	maxViewBlocks  = 100
	maxBlocksBytes = 12_000
	maxText        = 3_000 // the same for a post and for the stricter update
)

// fit makes a card one that Slack takes, whatever went into it. It stands in
// front of every call. What can be clicked is kept; words give way, the longest
// first.
func fit(c card) card {
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
	for size(blocks) > mostBytes {
		longest := longestWords(blocks)
		if longest == nil || len(longest.Text) <= 200 {
			at := lastWords(blocks)
			if at < 0 {
				break
			}
			blocks = slices.Delete(blocks, at, at+1)
			continue
		}
		longest.Text = clip(longest.Text, len([]rune(longest.Text))*3/4)
	}
	return blocks
}

func size(blocks []slackapi.Block) int {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(blocks) != nil {
		return 0
	}
	return b.Len()
}

// lastWords finds the last block that holds nothing but words.
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

// longestWords is the longest text of all sections. A fence that is cut is
// closed by Slack at the end of its text.
func longestWords(blocks []slackapi.Block) *slackapi.TextBlockObject {
	var longest *slackapi.TextBlockObject
	for _, b := range blocks {
		if s, ok := b.(*slackapi.SectionBlock); ok && s.Text != nil && (longest == nil || len(s.Text.Text) > len(longest.Text)) {
			longest = s.Text
		}
	}
	return longest
}
