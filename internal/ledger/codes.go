package ledger

import (
	"context"
	"errors"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// meaning is what a code of JetStream means to somebody who asked something of
// the ledger.
type meaning int

const (
	permanent meaning = iota // trying again does not help: a bug of ours, or a foreign ledger
	temporary                // trying again helps, perhaps after a while
	lost                     // a compare-and-set: somebody else wrote first
	noRoom                   // no room, or a write failed
)

// reviewed is the highest code that was looked at. A test fails when
// nats-server has a newer one, or one of class 409, 412, 429, 500 or 503 that
// is not listed here.
const reviewed = 10228

// meanings are those codes that say more than that the request was wrong.
var meanings = map[int]meaning{ //nolint:gochecknoglobals // a table
	codeWrongSequence: lost, codeInFlight: lost,

	codeAccountExceeded: noRoom, codeInsufficient: noRoom, codeMemoryExceeded: noRoom, codeStorageExceeded: noRoom, codeStoreFailed: noRoom,

	10004: temporary, // incomplete results: a server did not answer
	10005: temporary, // no suitable peers: a cluster that just started
	10007: temporary, // not assigned to this server
	10008: temporary, // JetStream system temporarily unavailable: no leader
	10009: temporary, // cannot handle request: not the leader any more
	10012: temporary, // consumer create: its group has no leader yet
	10014: temporary, // consumer not found: a reader's, with its server; the next one makes another
	10026: temporary, // maximum consumers: readers end after 30 s
	10035: temporary, // account not found: a server that starts
	10039: temporary, // not enabled for account: likewise
	10041: temporary, // Raft
	10044: temporary, // server is not a member: a node that joins or leaves
	10048: temporary, // stream assignment
	10049: temporary, // stream create: its group has no leader yet
	10051: temporary, // stream general
	10075: temporary, // peer remap
	10076: temporary, // JetStream not enabled: a server that starts or stops
	10104: temporary, // consumer store: a disk
	10110: temporary, // purge
	10111: temporary, // rollup
	10118: temporary, // stream offline: its servers are away
	10119: temporary, // consumer offline
	10124: temporary, // a stream is being moved
	10149: temporary, // consumer does not exist: as 10014
	10158: temporary, // duplicate in process
	10163: temporary, // expected last sequence not ready
	10167: temporary, // too many requests
	10180: temporary, // a replica is behind
	10194: temporary, // stream offline, with a reason
	10195: temporary, // consumer offline, with a reason
	10202: temporary, // a member of the cluster changes
	10210: temporary, // too many in flight
	10211: temporary, // likewise
	10226: temporary, // a stream is being reconfigured
	10228: temporary, // flow control stalled

	// Classes 500 and 503 that stay as they are.
	10006: permanent, // not in clustered mode
	10010: permanent, // clustering required
	10029: permanent, // mirrors, sources, templates and snapshots: we have none
	10036: permanent, // not supported in clustered mode
	10042: permanent, 10045: permanent, 10062: permanent, 10064: permanent, 10066: permanent, 10067: permanent, 10072: permanent,
	10050: permanent, // stream delete, which we never ask for
	10052: permanent, // invalid configuration
	10053: permanent, // limits of the account
	10057: permanent, // message delete, which we never ask for
	10063: permanent, // expected stream sequence, which we never send
	10069: permanent, // stream update
	10074: permanent, // replicas without a cluster
	10096: permanent, // stream not valid
	10117: permanent, // subject details
	10185: permanent, // API level
}

// codeOf is the JetStream code in an error; 0: none.
func codeOf(err error) int {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e.ErrCode
	}
	if e, ok := errors.AsType[*jetstream.APIError](err); ok {
		return int(e.ErrorCode)
	}
	return 0
}

// IsTemporary reports whether err says that the ledger cannot do now what it
// can do later: its servers are away, choose a leader, start, or have no room.
func IsTemporary(err error) bool {
	switch meanings[codeOf(err)] {
	case temporary, noRoom, lost:
		return true
	case permanent:
	}
	for _, target := range []error{
		ask.ErrUnavailable, context.DeadlineExceeded, context.Canceled,
		nats.ErrNoResponders, nats.ErrTimeout, nats.ErrConnectionClosed, nats.ErrConnectionReconnecting, nats.ErrDisconnected, nats.ErrConnectionDraining,
		nats.ErrStaleConnection, nats.ErrReconnectBufExceeded,
		jetstream.ErrNoHeartbeat, jetstream.ErrConsumerLeadershipChanged, jetstream.ErrServerShutdown, jetstream.ErrConnectionClosed,
		jetstream.ErrNoMessages, jetstream.ErrConsumerDeleted, jetstream.ErrConsumerNotFound, jetstream.ErrJetStreamNotEnabled, jetstream.ErrNoStreamResponse,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
