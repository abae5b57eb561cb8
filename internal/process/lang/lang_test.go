package lang_test

import (
	"testing"

	"github.com/askbus/askbus/internal/process/lang"
)

func TestSay(t *testing.T) {
	t.Parallel()
	en, zh := lang.Of("en"), lang.Of("zh-CN")
	for _, c := range []struct {
		got, want string
	}{
		{en.Say("%d asks are declined.", 1), "1 ask is declined."},
		{en.Say("%d asks are declined.", 3), "3 asks are declined."},
		{en.Say("%d asks are declined.", 12345), "12345 asks are declined."},
		{zh.Say("%d asks are declined.", 1), "已拒绝 1 个提问。"},
		{en.Say("%s %s|who, where", "Mei", "on Slack"), "Mei on Slack"},
		{zh.Say("%s %s|who, where", "Mei", "Slack"), "Mei（Slack）"},
		{zh.Say("nobody has translated this %s", "100%d"), "nobody has translated this 100%d"},
		{zh.Say("%[1]s asked, %[2]s", "{}", "%s"), "{} asked, %s"},
		{en.Say("50% of it"), "50% of it"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		wishes []string
		want   string
		sure   bool
	}{
		{nil, "en", false},
		{[]string{""}, "en", false},
		{[]string{"zh-CN,zh;q=0.9,en;q=0.8"}, "zh-Hans", true},
		{[]string{"en-GB,zh;q=0.9"}, "en", true},
		{[]string{"fr,zh-TW;q=0.5"}, "zh-Hans", true},
		{[]string{"ja"}, "en", false},
		{[]string{"EN_us"}, "en", true},
		{[]string{"zh-Hant-TW"}, "zh-Hans", true},
		{[]string{"", "zh"}, "zh-Hans", true},
		{[]string{"en", "zh"}, "en", true},
		{[]string{"\x00;;q=9"}, "en", false},
	} {
		if l, sure := lang.Match(c.wishes...); l.Tag != c.want || sure != c.sure {
			t.Errorf("%q: %s, %v", c.wishes, l.Tag, sure)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{nil, ""},
		{map[string]string{"LANG": "zh_CN.UTF-8"}, "zh-CN"},
		{map[string]string{"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"},
		{map[string]string{"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "en_US.UTF-8"}, "en-US"},
		{map[string]string{"LC_ALL": "C.UTF-8", "ASKBUS_LANG": "zh"}, "zh"},
		{map[string]string{"LANG": "ca_ES@valencia"}, "ca-ES"},
	} {
		if got := lang.Environment(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%v: %q, want %q", c.env, got, c.want)
		}
	}
}
