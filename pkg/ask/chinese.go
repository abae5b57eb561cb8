package ask

// SurfaceWordsIn names in another language the place where people meet a
// responder type, for use in brackets or after a colon: "Slack", "终端". In
// English it is [SurfaceWords].
func SurfaceWordsIn(lang, responder string) string {
	if !speaksChinese(lang) {
		return SurfaceWords(responder)
	}
	switch responder {
	case "web":
		return "网页"
	case "push":
		return "通知"
	case "cli", "tui", "ssh":
		return "终端"
	case "slack":
		return "Slack"
	case "telegram":
		return "Telegram"
	case "discord":
		return "Discord"
	case "feishu":
		return "飞书"
	case "teams":
		return "Teams"
	case "mattermost":
		return "Mattermost"
	case "email":
		return "邮件"
	case "gateway":
		return "HTTP"
	case ResponderNative, ResponderElicit:
		return "智能体自己的对话框"
	}
	return responder
}

// plainText holds the fixed words of a question's text form.
type plainText struct{ colon, yes, no, recommended, ends, destroys, inTime, lines string }

func plainWords() map[string]*plainText {
	return map[string]*plainText{
		english: {": ", "Yes", "No", " (recommended)", " (ends the whole ask)", " (destructive)", "If nobody answers in time: ", "Answer with one line a question, such as "},
		chinese: {"：", "是", "否", "（推荐）", "（选择它会结束整个提问）", "（破坏性）", "若无人及时回答：", "每个问题回答一行，例如 "},
	}
}
