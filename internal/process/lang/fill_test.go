package lang_test

import (
	"testing"

	"github.com/askbus/askbus/internal/process/lang"
)

func TestChineseHasSpacesBesideLatinLettersOnly(t *testing.T) {
	t.Parallel()
	zh := lang.Of("zh-Hans")
	bold := func(s string) lang.Styled { return lang.Styled{Text: s, As: "*" + s + "*"} }
	for _, c := range []struct{ got, want string }{
		{zh.Say("%[1]s chose %[2]s%[3]s|who, what, when", "你", "PostgreSQL", "（10:02）"), "你选择了 PostgreSQL（10:02）"},
		{zh.Say("%[1]s chose %[2]s%[3]s|who, what, when", "Mei", "七年", ""), "Mei 选择了七年"},
		{zh.Say("%[1]s chose %[2]s%[3]s|who, what, when", bold("王伟"), bold("git push"), ""), "*王伟*选择了 *git push*"},
		{zh.Say("Only %s may decide this.", "finance 组"), "只有 finance 组可以决定。"},
		{zh.Say("%s is looking at this", ""), " 正在看"},
		{lang.Fill("第 %[1]d 题，共 %[2]d 题", 1, 2), "第 1 题，共 2 题"},
		{lang.Fill("%s 组 %s", "a"), "a 组 %!s(MISSING)"}, // a fault of the catalogue is seen
		{lang.Of("en").Say("%s is looking at this", "王伟"), "王伟 is looking at this"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
