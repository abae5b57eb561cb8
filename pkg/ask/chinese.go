package ask

// chineseSentences maps the sentences of this package to Chinese. The most
// general patterns come last. A test checks that none is missing.
//
//nolint:gochecknoglobals // a table
var chineseSentences = [][2]string{
	// How typed text is read.
	{"Please give an answer.", "请作答。"},
	{"%q is not a number; type one such as 3 or 2.5.", "%q 不是数字；请输入数字，例如 3 或 2.5。"},
	{"%q is neither yes nor no.", "%q 既不是“是”也不是“否”。"},
	{"%q is not a date; type one such as 2026-11-20.", "%q 不是日期；请输入日期，例如 2026-11-20。"},
	{"%q is not a day of the calendar.", "日历上没有 %q 这一天。"},
	{"%q is not a question; the questions are %s.", "没有问题 %q；现有的问题是 %s。"},
	{"Question %q is answered twice; answer it once.", "问题 %q 回答了两次；请只回答一次。"},
	{"%q fits %d options: %s. Type the number of one%s.", "%q 对应 %d 个选项：%s。请输入其中一个的编号%s。"},
	{"%q is not the option; type 1 to choose it%s.", "%q 不是这个选项；输入 1 选择它%s。"},
	{"%q is not one of the options; type a number from 1 to %d%s.", "%q 不在选项中；请输入 1 到 %d 的编号%s。"},
	{", or \"other: %s\" to give it as your own words", "，或输入“其他：%s”，把它作为你自己的回答"},

	// How an answer fits.
	{"is %q; the questions are %s", "是 %q；现有的问题是 %s"},
	{"%q is answered twice; answer each question once", "%q 回答了两次；每个问题只回答一次"},
	{"question %q needs an answer", "问题 %q 需要回答"},
	{"the note has more than %d characters", "备注超过了 %d 个字符"},
	{"is both skipped and answered; do one of the two", "既跳过又作了回答；请二选一"},
	{"has %s, but %q is a %s question; give %s", "含有 %s，但 %q 是 %s 类型的问题；请给出 %s"},
	{"question %q has kind %q, which this version does not support; answer it in a newer one", "问题 %q 的类型是 %q，此版本还不认识；请在更新的版本上回答"},
	{"option %q does not exist; the options are %s", "没有选项 %q；可选的是 %s"},
	{"option %q is chosen twice", "选项 %q 选了两次"},
	{"Other text is not allowed here; choose from %s", "这里不能自己填写；请从 %s 中选择"},
	{"the Other text has more than %d characters", "自己填写的内容超过了 %d 个字符"},
	{"%d answers are given; choose one", "给出了 %d 个回答；请只选一个"},
	{"1 is chosen; choose at least %d", "选了 1 项；请至少选 %d 项"},
	{"%d are chosen; choose at least %d", "选了 %d 项；请至少选 %d 项"},
	{"1 is chosen; choose at most %d", "选了 1 项；请最多选 %d 项"},
	{"%d are chosen; choose at most %d", "选了 %d 项；请最多选 %d 项"},
	{"has %d characters; write at least %d", "有 %d 个字符；请至少写 %d 个"},
	{"has %d characters; write at most %d", "有 %d 个字符；请最多写 %d 个"},
	{"the question's pattern is broken: %v", "这个问题的格式规则有误：%v"},
	{"does not match %s", "不符合 %s"},
	{"is not a finite number", "不是有限的数字"},
	{"is %v; give a whole number", "是 %v；请给出整数"},
	{"is %v; give at least %v", "是 %v；请不小于 %v"},
	{"is %v; give at most %v", "是 %v；请不大于 %v"},
	{"is %q; give a date such as 2026-11-20", "是 %q；请给出日期，例如 2026-11-20"},
	{"is %s; give %s or later", "是 %s；请给出 %s 或之后的日期"},
	{"is %s; give %s or earlier", "是 %s；请给出 %s 或之前的日期"},

	// What a minimum proof demands.
	{"needs a sign-in by SSH key, Slack, OpenID Connect or passkey", "需要用 SSH 密钥、Slack、OpenID Connect 或通行密钥登录"},
	{"needs a sign-in, or the user of this machine", "需要登录，或由本机用户作答"},
	{"needs a person, at least at the agent's own host", "需要有人作答，至少在智能体所在的主机上"},

	{"Your answer %s.", "你的回答%s。"},
}

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
	case "gateway":
		return "HTTP"
	case ResponderNative, ResponderElicit:
		return "智能体自己的对话框"
	}
	return responder
}

// plainText holds the fixed words of a question's text form.
type plainText struct{ colon, yes, no, recommended, ends, inTime, lines string }

func plainWords() map[string]*plainText {
	return map[string]*plainText{
		english: {": ", "Yes", "No", " (recommended)", " (ends the whole ask)", "If nobody answers in time: ", "Answer with one line a question, such as "},
		chinese: {"：", "是", "否", "（推荐）", "（选择它会结束整个提问）", "若无人及时回答：", "每个问题回答一行，例如 "},
	}
}
