package ask

// plainText holds the fixed words of a question's text form.
type plainText struct{ colon, yes, no, recommended, ends, destroys, inTime, lines string }

func plainWords() map[string]*plainText {
	return map[string]*plainText{
		english: {": ", "Yes", "No", " (recommended)", " (ends the whole ask)", " (destructive)", "If nobody answers in time: ", "Answer with one line a question, such as "},
		chinese: {"：", "是", "否", "（推荐）", "（选择它会结束整个提问）", "（破坏性）", "若无人及时回答：", "每个问题回答一行，例如 "},
	}
}
