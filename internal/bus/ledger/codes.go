package ledger

import (
	"context"
	"errors"
	"slices"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// meaning is what a JetStream error code means to a caller of the ledger.
type meaning int

const (
	permanent meaning = iota // a retry does not help: a bug, or a foreign ledger
	temporary                // a retry helps, perhaps after a while
	lost                     // a compare-and-set: another write was first
	noRoom                   // no room, or a write failed
)

// meanings has the codes that mean more than a wrong request. A test fails when
// nats-server has one of class 409, 412, 429, 500 or 503 that is not listed, or
// one that is newer than this list.
var meanings = map[int]meaning{ //nolint:gochecknoglobals // a table
	codeWrongSequence: lost, codeInFlight: lost,

	codeAccountExceeded: noRoom, codeInsufficient: noRoom, codeMemoryExceeded: noRoom, codeStorageExceeded: noRoom, codeStoreFailed: noRoom,

	codeNoPeers: temporary, // a cluster that just started

	10004: temporary, // incomplete results: a server did not answer
	10007: temporary, // not assigned to this server
	10008: temporary, // cannot handle request: no longer the leader
	10009: temporary, // cannot handle request: not the leader any more
	10012: temporary, // consumer create: its group has no leader yet
	10014: temporary, // consumer not found: it was lost with its server; the next read makes another
	10026: temporary, // maximum consumers: readers end after 30 s
	10035: temporary, // account not found: the server is starting
	10039: temporary, // not enabled for account: likewise
	10041: temporary, // Raft
	10044: temporary, // server is not a member: a node joins or leaves
	10048: temporary, // stream assignment
	10049: temporary, // stream create: its group has no leader yet
	10051: temporary, // stream general
	10075: temporary, // peer remap
	10076: temporary, // JetStream not enabled: the server starts or stops
	10104: temporary, // consumer store: a disk
	10110: temporary, // purge
	10111: temporary, // rollup
	10118: temporary, // stream offline: its servers are down
	10119: temporary, // consumer offline
	10124: temporary, // a stream is being moved
	10149: temporary, // consumer does not exist: as 10014
	10158: temporary, // duplicate in process
	10163: temporary, // expected last sequence not ready
	10167: temporary, // too many requests
	10176: temporary, // a batch is incomplete: another server leads since it began
	10180: temporary, // a replica lags
	10194: temporary, // stream offline, with a reason
	10195: temporary, // consumer offline, with a reason
	10202: temporary, // a member of the cluster changes
	10210: temporary, // too many in flight
	10211: temporary, // likewise
	10226: temporary, // a stream is being reconfigured
	10228: temporary, // flow control stalled

	// Codes of class 500 and 503 that are permanent.
	10006: permanent, // not in clustered mode
	10010: permanent, // clustering required
	10029: permanent, // mirrors, sources, templates and snapshots: not used
	10036: permanent, // not supported in clustered mode
	10042: permanent, 10045: permanent, 10062: permanent, 10064: permanent, 10066: permanent, 10067: permanent, 10072: permanent,
	10050:         permanent, // stream delete: not used
	10052:         permanent, // invalid configuration
	10053:         permanent, // limits of the account
	10057:         permanent, // message delete: not used
	10063:         permanent, // expected stream sequence: not used
	10069:         permanent, // stream update
	codeNoCluster: permanent,
	10096:         permanent, // stream not valid
	10117:         permanent, // subject details
	10185:         permanent, // API level
}

// codeOf returns the JetStream code in an error; 0: none.
func codeOf(err error) int {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e.ErrCode
	}
	if e, ok := errors.AsType[*jetstream.APIError](err); ok {
		return int(e.ErrorCode)
	}
	return 0
}

// IsTemporary reports whether err means that the ledger can do later what it
// cannot do now: its servers are down, starting, choosing a leader, or have no
// room.
func IsTemporary(err error) bool {
	switch meanings[codeOf(err)] {
	case temporary, noRoom, lost:
		return true
	case permanent:
	}
	return slices.ContainsFunc([]error{
		ask.ErrUnavailable, context.DeadlineExceeded, context.Canceled,
		nats.ErrNoResponders, nats.ErrTimeout, nats.ErrConnectionClosed, nats.ErrConnectionReconnecting, nats.ErrDisconnected, nats.ErrConnectionDraining,
		nats.ErrStaleConnection, nats.ErrReconnectBufExceeded,
		jetstream.ErrNoHeartbeat, jetstream.ErrConsumerLeadershipChanged, jetstream.ErrServerShutdown, jetstream.ErrConnectionClosed,
		jetstream.ErrNoMessages, jetstream.ErrConsumerDeleted, jetstream.ErrConsumerNotFound, jetstream.ErrJetStreamNotEnabled, jetstream.ErrNoStreamResponse,
	}, func(target error) bool { return errors.Is(err, target) })
}
