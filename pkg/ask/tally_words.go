package ask

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Words says how far the votes have come, in a language such as "zh-CN";
// unknown and empty: English. An example is "1 of 2 approvals: Mei; 1 more
// needed from group sre".
func (t *Tally) Words(lang string) string {
	w := voteWords(lang)
	switch t.Decision {
	case ChoiceApprove:
		return fmt.Sprintf(w.approved, voters(t.Approvals, w))
	case ChoiceDeny:
		return fmt.Sprintf(w.denied, voters(t.Denials, w))
	case ChoiceWithdrawn, ChoiceRevoked:
	}
	said := t.Count(lang)
	if len(t.Approvals) > 0 {
		said += w.colon + voters(t.Approvals, w)
	}
	parts := []string{said}
	if len(t.Denials) > 0 {
		parts = append(parts, fmt.Sprintf(w.against, len(t.Denials), t.DenyNeed)+w.colon+voters(t.Denials, w))
	}
	return strings.Join(append(parts, t.Lacks(lang)...), w.semicolon)
}

// others leaves out who has approved: their next vote would replace that one.
func (t *Tally) others(from []string) []string {
	left := slices.DeleteFunc(slices.Clone(from), func(entry string) bool {
		return slices.ContainsFunc(t.Approvals, func(v Vote) bool { return v.By.seat().Principal == entry })
	})
	if len(left) == 0 {
		return from
	}
	return left
}

// Count is the beginning of [Tally.Words]: "1 of 2 approvals".
func (t *Tally) Count(lang string) string {
	return fmt.Sprintf(voteWords(lang).count, t.Have, t.Need)
}

// Lacks is the end of [Tally.Words], one phrase for each thing that an undecided
// ask waits for: "1 more needed from group sre", or with alternatives "1 more needed
// from group sre, or 2 more needed from group ops".
func (t *Tally) Lacks(lang string) []string {
	w := voteWords(lang)
	var parts []string
	if t.Decision != "" {
		return nil
	}
	for _, ways := range t.Missing {
		said := t.phrases(ways[0], w)
		if len(ways) > 1 {
			all := make([]string, len(ways))
			for i, way := range ways {
				all[i] = strings.Join(t.phrases(way, w), w.and)
			}
			said = []string{few(all, w.instead, w)}
		}
		for _, one := range said {
			if !slices.Contains(parts, one) { // a policy may need what the ask does
				parts = append(parts, one)
			}
		}
	}
	if len(t.Awaited) > 0 {
		parts = append(parts, fmt.Sprintf(w.awaited, entries(t.Awaited, w)))
	}
	if t.Blocked {
		parts = append(parts, w.blocked)
	}
	return parts
}

func (t *Tally) phrases(way []Factor, w *wordsOfVotes) []string {
	said := make([]string, len(way))
	for i, f := range way {
		if said[i] = fmt.Sprintf(w.more, f.Need); len(f.From) > 0 {
			said[i] = fmt.Sprintf(w.moreOf, f.Need, entries(t.others(f.From), w))
		}
	}
	return said
}

// Who names the people who may approve, in a language as in [Tally.Words]; empty:
// everybody who may decide the ask.
func (p *Approval) Who(lang string) string {
	w := voteWords(lang)
	var all []string
	for _, one := range p.all() {
		var here []string
		everybody := false
		for i := range one.AnyOf {
			for _, f := range one.AnyOf[i].factors() {
				everybody = everybody || len(f.From) == 0
				here = append(here, f.From...)
			}
		}
		if !everybody { // others of the approvals name the people who are needed
			all = append(all, here...)
		}
	}
	slices.Sort(all)
	return entries(slices.Compact(all), w)
}

const maxNamed = 5 // people or groups in a sentence

func voters(votes []Vote, w *wordsOfVotes) string {
	all := make([]string, len(votes))
	for i := range votes {
		all[i] = Clip(CleanLine(votes[i].By.Called(w.lang)), 120)
	}
	return few(all, w.comma, w)
}

// entries names people of a list: "group sre or os:mei".
func entries(from []string, w *wordsOfVotes) string {
	from = Unresolved(from)
	all := make([]string, len(from))
	for i, entry := range from {
		if name, ok := strings.CutPrefix(entry, "group:"); ok {
			entry = w.group + name
		} else if name, _, ok := ScheduleOf(entry); ok {
			entry = w.schedule + name
		}
		all[i] = Clip(CleanLine(entry), 80)
	}
	return few(all, w.or, w)
}

func few(all []string, between string, w *wordsOfVotes) string {
	if len(all) > maxNamed {
		all = append(slices.Clone(all[:maxNamed-1]), fmt.Sprintf(w.others, strconv.Itoa(len(all)-maxNamed+1)))
	}
	return strings.Join(all, between)
}

type wordsOfVotes struct {
	count, against, more, moreOf, awaited, blocked, approved, denied string
	group, schedule, colon, semicolon, comma, or, others             string
	instead, and                                                     string
	lang                                                             string
}

func voteWords(lang string) *wordsOfVotes {
	if speaksChinese(lang) {
		return &wordsOfVotes{
			"%d/%d 票批准", "%d/%d 票否决", "还差 %d 票", "还差 %d 票（%s）", "等待 %s 投票", "除非有人改投，否则无法获批", "已由 %s 批准", "已被 %s 否决",
			"组 ", "值班表 ", "：", "；", "、", " 或 ", "其他 %s 人", "，或", "并", lang,
		}
	}
	return &wordsOfVotes{
		"%d of %d approvals", "%d of %d denials", "%d more needed", "%d more needed from %s", "waiting for %s to vote", "it can no longer be approved unless somebody changes a vote", "approved by %s", "denied by %s",
		"group ", "schedule ", ": ", "; ", ", ", " or ", "%s others", ", or ", " and ", lang,
	}
}
