package dialect

import (
	"fmt"

	"github.com/askbus/askbus/pkg/ask"
)

// say translates a sentence into the language of the ask. Field names, statuses
// and the markers of a report ("user notes: "), which programs search for, stay
// the same in every language.
func say(a *ask.Ask, text string, args ...any) string {
	if a.Language() == "zh" {
		if chinese, ok := chineseSentences[text]; ok {
			text = chinese
		}
	}
	return fmt.Sprintf(text, args...)
}

// chineseSentences translates the sentences of this package, which models and
// people at foreign screens read. A test checks that none is missing.
//
//nolint:gochecknoglobals // a table
var chineseSentences = map[string]string{
	"answered by %s":                         "已由%s回答",
	"approved by %s alone (break-glass): %s": "已由%s独自批准（紧急）：%s",
	"denied by %s alone (break-glass): %s":   "已由%s独自否决（紧急）：%s",
	"cancelled by %s: the chosen option %q cancels the whole ask; nothing else was decided":               "已由%s取消：所选的选项 %q 会取消整个提问；其他均未决定",
	"declined: %s (by %s); no decision was made":                                                          "被拒绝：%s（%s）；没有作出决定",
	"This is too long to be shown whole here. All of it is in the file %s: read it before you permit it.": "内容过长，无法在此完整显示。完整内容在文件 %s 中：请在允许之前阅读。",
	"no reason was given": "没有说明理由",
	"withdrawn before anybody answered%s; no decision was made":                                 "在有人回答之前已撤回%s；没有作出决定",
	"nobody answered by %s; no decision was made":                                               "到 %s 无人回答；没有作出决定",
	"nobody answered by %s; these are the defaults that the ask declared, not a human's answer": "到 %s 无人回答；以下是提问时声明的默认值，并非由人作答",
	"aborted before anybody answered%s; no decision was made":                                   "在有人回答之前已被终止%s；没有作出决定",
	": %s":                                   "：%s",
	"a policy, not a human":                  "策略（并非由人）",
	"somebody":                               "某人",
	"%s (%s)":                                " %s（%s）",
	"The answers to %q, each in quotes: %s.": "对 %q 的回答，各加引号：%s。",
	"A note on %q: %s":                       "关于 %q 的备注：%s",
	"And for the whole ask: %s":              "对整个提问的补充：%s",
	"Their reply to the whole ask: %s":       "对整个提问的回复：%s",
	"nobody has answered yet; the ask stays open, so ask for the answer of %q again later": "还没有人回答；提问仍然开放，请稍后再来取 %q 的回答",
	", at the Location that came with this":                                                "，地址见随附的 Location",

	"File of %q: %s":                    "%q 的文件：%s",
	"File: %s":                          "文件：%s",
	"a file without a name":             "一个没有名称的文件",
	"Files that are not shown here: %s": "此处未显示的文件：%s",
	"Attached: %s; read it with GET /v1/files/%s?session=%s or askbus file %s/%s": "附件：%s；可用 GET /v1/files/%s?session=%s 或 askbus file %s/%s 读取",

	"Recommended.":        "推荐。",
	"Ends the whole ask.": "选择它会结束整个提问。",
	"Question %d":         "问题 %d",
	"Yes":                 "是",
	"No":                  "否",

	"Answer elsewhere":               "在别处回答",
	"Decline":                        "拒绝",
	"on another screen":              "在其他屏幕上",
	"at %s":                          "在 %s ",
	"Type the answer, or answer %s.": "请输入回答，或%s回答。",
	"Type one reply to all of it, or answer %s.": "请用一段话回复全部问题，或%s回答。",
	"Leave it open here and answer it %s.":       "在这里先不回答，改为%s回答。",
	"Tell the agent that it gets no answer.":     "告诉智能体不会得到回答。",

	"Another answer, in your own words":                               "其他回答，自己填写",
	"%s is not the JSON that the request wants: %s":                   "%s 不是请求所要的 JSON：%s",
	"the person's answer is %s, which the request does not allow: %s": "对方的回答是 %s，而请求不允许：%s",
}
