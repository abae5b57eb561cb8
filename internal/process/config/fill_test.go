package config_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/process/config"
)

func TestSettingsAreFilledByTheNamesOfTheirVariables(t *testing.T) {
	t.Parallel()
	s := config.Slack{}
	if err := config.Fill(&s, map[string]string{"ASKBUS_SLACK_BOT_TOKEN_FILE": "bot", "ASKBUS_SLACK_REPLICAS": "2", "ASKBUS_SLACK_STRANGERS": "T1,T2"}); err != nil {
		t.Fatal(err)
	}
	if c := s.Slack; c.BotTokenFile != "bot" || c.Replicas != 2 || strings.Join(c.Strangers, " ") != "T1 T2" {
		t.Errorf("filled %+v", c)
	}
	for name, value := range map[string]string{"ASKBUS_SLACK_REPLICAS": "many", "ASKBUS_SLACK_REPLICA": "2"} {
		if err := config.Fill(&s, map[string]string{name: value}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s=%s: the error is %v", name, value, err)
		}
	}
}
