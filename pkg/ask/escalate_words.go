package ask

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// LadderWords says in one sentence how far an ask that was asked at this time has
// been escalated, and what comes next, in a language such as "zh-CN"; empty for an
// ask without a ladder. An example is "told group oncall 3 min ago; next: schedule
// sre in 4 min".
func (a *Ask) LadderWords(asked time.Time, e *Escalated, now time.Time, lang string) string {
	if len(a.Escalate) == 0 {
		return ""
	}
	w := ladderWords(lang)
	var parts []string
	if last := e.Last(); last != nil {
		parts = append(parts, fmt.Sprintf(w.told, w.whom(last.Tell, last.Remind), w.span(now.Sub(last.At))))
	}
	next, ok := a.NextStep(asked, e)
	at := next.At
	if ok {
		at, ok = a.StepDue(&next, now)
	}
	if !ok {
		return strings.Join(append(parts, w.none), w.semicolon)
	}
	said := fmt.Sprintf(w.next, w.whom(next.Tell, next.Remind), w.span(at.Sub(now)))
	if a.OtherHours(at, now) {
		said = fmt.Sprintf(w.later, w.whom(next.Tell, next.Remind), w.clock(at, now))
	}
	if next.Paused {
		i := slices.IndexFunc(e.Seen, func(s Seen) bool { return s.N == next.N })
		by := e.Seen[i].By
		said += fmt.Sprintf(w.paused, Clip(CleanLine(cmp.Or(by.Name, by.Principal)), 80))
	}
	return strings.Join(append(parts, said), w.semicolon)
}

// Whom names whom the step told, in a language such as "zh-CN".
func (s *Step) Whom(lang string) string { return ladderWords(lang).whom(s.Tell, s.Remind) }

// Whom names whom the step tells, in a language such as "zh-CN".
func (n *Next) Whom(lang string) string { return ladderWords(lang).whom(n.Tell, n.Remind) }

// whom names who is told.
func (w *wordsOfLadders) whom(tell []string, remind bool) string {
	if remind { // also to those who may decide, whom no step names
		return w.remind
	}
	all := make([]string, 0, len(tell))
	for _, entry := range Unresolved(tell) {
		if name, ok := strings.CutPrefix(entry, "schedule:"); ok {
			entry = w.votes.schedule + name
		} else if name, ok := strings.CutPrefix(entry, "group:"); ok {
			entry = w.votes.group + name
		}
		all = append(all, Clip(CleanLine(entry), 80))
	}
	return few(all, w.votes.comma, w.votes)
}

// span formats a time span for people: "40 s", "4 min", "2 h", "3 d".
func (w *wordsOfLadders) span(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < 90*time.Second:
		return fmt.Sprintf(w.seconds, int((d+time.Second/2)/time.Second))
	case d < 90*time.Minute:
		return fmt.Sprintf(w.minutes, int((d+30*time.Second)/time.Minute))
	case d < 36*time.Hour:
		return fmt.Sprintf(w.hours, int((d+30*time.Minute)/time.Hour))
	}
	return fmt.Sprintf(w.days, int((d+12*time.Hour)/(24*time.Hour)))
}

type wordsOfLadders struct {
	told, next, none, paused, remind         string
	seconds, minutes, hours, days, semicolon string

	later, date string // of a step in other open hours
	weekdays    [7]string

	votes *wordsOfVotes
}

func ladderWords(lang string) *wordsOfLadders {
	if speaksChinese(lang) {
		return &wordsOfLadders{
			"已通知 %s（%s前）", "下一步：通知 %s（%s后）", "没有下一步了", "，因 %s 正在查看而推迟", "所有人（再次）",
			"%d 秒", "%d 分钟", "%d 小时", "%d 天", "；",
			"下一步：通知 %s（%s）", "1月2日",
			[...]string{"周日", "周一", "周二", "周三", "周四", "周五", "周六"},
			voteWords(lang),
		}
	}
	return &wordsOfLadders{
		"told %s %s ago", "next: %s in %s", "no further step", ", later because %s is looking", "everybody again",
		"%d s", "%d min", "%d h", "%d d", "; ",
		"next: %s, %s", "2 Jan",
		[...]string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"},
		voteWords(lang),
	}
}
