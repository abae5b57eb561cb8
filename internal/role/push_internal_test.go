package role

import (
	"bytes"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/process/config"
)

// Push services refuse a contact that is neither a URL nor an address, only when somebody is to be notified.
func TestAContactThatPushServicesRefuseIsRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	var p config.Push
	p.Push.Contact = "ops"
	_, err := new(Process).push(p, bytes.Repeat([]byte("k"), 32))
	if err == nil || !strings.Contains(err.Error(), `ASKBUS_PUSH_CONTACT is "ops"; give`) {
		t.Error(err)
	}
}
