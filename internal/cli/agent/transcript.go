package agent

import (
	"encoding/json"
	"fmt"

	"github.com/askbus/askbus/internal/asking/transcript"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// bigFile bounds the size of a recorded conversation.
const bigFile = 256 << 20

// TranscriptCmd is "askbus transcript".
func TranscriptCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "transcript FILE",
		Short: "List the questions of a recorded conversation, and what was answered",
		Long: `Reads a coding agent's transcript (JSON lines), or a recorded request body with
messages, and lists each question that the agent asked with AskUserQuestion and its
answer. - reads standard input.`,
		Example: "  askbus transcript session.jsonl",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := cli.ReadFile(args[0], cmd.InOrStdin(), bigFile)
			if err != nil {
				return err
			}
			entries, err := transcript.Read(data)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if a.JSON() {
				e := json.NewEncoder(cli.CleanJSON{Writer: a.Stdout})
				e.SetEscapeHTML(false)
				e.SetIndent("", "  ")
				return e.Encode(entries)
			}
			fmt.Fprint(a.Stdout, ask.CleanText(transcript.Text(entries)))
			return nil
		},
	}
}
