package slack

import (
	"time"

	"github.com/askbus/askbus/pkg/responder"
)

// classChannel is the class of posts to one channel; all other calls have their method as the class,
// and no place.
const classChannel = "channel"

// newLimiter returns the limiter of a token that replicas share.
func newLimiter(c responder.Clock, replicas int) *responder.Limiter {
	l := responder.NewLimiter(c, func(class string) responder.Pace {
		perMinute, burst := allowance(class)
		return responder.Pace{Every: time.Minute / time.Duration(perMinute), Burst: burst}
	})
	l.SetReplicas(replicas)
	return l
}

// allowance returns Slack's limit per minute and its burst. It stays a little below them, because
// the doctor and retries share the token.
func allowance(class string) (perMinute, burst int) {
	switch class {
	case "chat.postMessage":
		return 280, 60
	case "chat.update", "chat.scheduleMessage", "chat.scheduledMessages.list", "chat.deleteScheduledMessage", "conversations.open", "conversations.info", "conversations.history", "conversations.replies":
		return 48, 20
	case "chat.postEphemeral", "files.getUploadURLExternal", "files.completeUploadExternal", "views.open", "views.update", "views.publish", "users.info":
		return 95, 40
	case "usergroups.list", "usergroups.users.list":
		return 19, 10
	case "auth.test":
		return 200, 50
	case "apps.connections.open":
		return 10, 5
	}
	return 58, 3 // a channel: one message per second
}
