package ask

import "fmt"

// typing has the phrases about what to type, in one language.
type typing struct {
	text, boolean, skips  string
	one, many, own        string
	number, integer, date string

	count, counts, countFrom, countAny                 string // how many options
	between, dateFrom, dateUntil, numberFrom, numberTo string // limits of a number or a date
}

func typingIn(lang string) *typing {
	if speaksChinese(lang) {
		return &typing{
			text: "请输入你的回答。", boolean: "请输入“是”或“否”。", skips: "留空则跳过。",
			one: "请选择一项：输入编号，或选项文字的一部分。", many: "请选择%s：输入编号或选项文字，用逗号隔开。", own: "也可以自己写。",
			number: "请输入数字%s。", integer: "请输入整数%s。", date: "请输入日期，例如 2026-11-20%s。",
			count: " %d 项", counts: " %d 到 %d 项", countFrom: "至少 %d 项", countAny: "一项或多项",
			between: "（%s 到 %s）", dateFrom: "（%s 或之后）", dateUntil: "（%s 或之前）", numberFrom: "（不小于 %s）", numberTo: "（不大于 %s）",
		}
	}
	return &typing{
		text: "Type your answer.", boolean: "Type yes or no.", skips: " An empty answer skips it.",
		one: "Choose one: type its number or a part of its label.", many: "Choose %s: type numbers or labels with commas between them.", own: " Or type an answer of your own.",
		number: "Type a number%s.", integer: "Type a whole number%s.", date: "Type a date such as 2026-11-20%s.",
		count: "%d", counts: "%d to %d", countFrom: "%d or more", countAny: "one or more",
		between: " from %s to %s", dateFrom: " (%s or later)", dateUntil: " (%s or earlier)", numberFrom: ", at least %s", numberTo: ", at most %s",
	}
}

// HowToIn returns one line that says what to type as the answer to this
// question, in a language such as "zh-CN"; unknown and empty: English.
func (q *Question) HowToIn(lang string) string {
	t := typingIn(lang)
	s := t.text
	switch q.Kind {
	case KindChoice:
		s = t.one
		if q.Multiple {
			s = fmt.Sprintf(t.many, t.howMany(q))
		}
		if q.Other() {
			s += t.own
		}
	case KindNumber:
		s = fmt.Sprintf(t.number, t.span(&q.Limits))
		if q.Limits.Integer {
			s = fmt.Sprintf(t.integer, t.span(&q.Limits))
		}
	case KindBoolean:
		s = t.boolean
	case KindDate:
		s = fmt.Sprintf(t.date, t.span(&q.Limits))
	case KindText:
	}
	if q.Optional {
		s += t.skips
	}
	return s
}

func (t *typing) howMany(q *Question) string {
	switch least, most := max(q.MinItems, 1), q.MaxItems; {
	case most == least:
		return fmt.Sprintf(t.count, most)
	case most > 0:
		return fmt.Sprintf(t.counts, least, most)
	case least > 1:
		return fmt.Sprintf(t.countFrom, least)
	}
	return t.countAny
}

// span returns the range of a typed answer, such as " from 1 to 9".
func (t *typing) span(l *Limits) string {
	least, most := l.MinDate, l.MaxDate
	if l.Min != nil {
		least = formatNumber(*l.Min)
	}
	if l.Max != nil {
		most = formatNumber(*l.Max)
	}
	switch {
	case least != "" && most != "":
		return fmt.Sprintf(t.between, least, most)
	case l.MinDate != "":
		return fmt.Sprintf(t.dateFrom, least)
	case l.MaxDate != "":
		return fmt.Sprintf(t.dateUntil, most)
	case least != "":
		return fmt.Sprintf(t.numberFrom, least)
	case most != "":
		return fmt.Sprintf(t.numberTo, most)
	}
	return ""
}
