package natsd

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/server/storecheck"
	"github.com/nats-io/nats-server/v2/server"
)

// After a write that failed, nats-server stores nothing more in that stream
// until it opens it again. A single server whose disk was full does so by itself
// when there is room: it stops JetStream, reads the store as at a start, and
// starts JetStream; connections stay. In a cluster that would also restart the
// node's Raft groups, which a restart of the process is tried for: the process
// ends. Another failure, such as an I/O error, is left to a person.

const reopenEvery = time.Second

// reopener opens the streams again after a full disk.
type reopener struct {
	s      *Server
	log    *slog.Logger
	config server.JetStreamConfig
}

func (s *Server) startReopener(log *slog.Logger) {
	config := s.srv.JetStreamConfig()
	if config == nil {
		return // it has just been switched off
	}
	r := &reopener{s: s, log: log, config: *config}
	r.config.StoreDir = filepath.Dir(config.StoreDir) // the server adds its own folder
	s.closes = append(s.closes, startLoop(r.run))
}

func (r *reopener) run(ctx context.Context) {
	for backoff.Sleep(ctx, reopenEvery) == nil {
		if !r.s.hasRoomAgain() {
			continue
		}
		if err := r.reopen(); err != nil {
			r.s.unopened.Store(true)
			r.log.Error("cannot open the store again after its disk was full: start askbus again", slog.Any("error", err))
			return
		}
	}
}

// AwaitRoom returns nil when ctx ends. It returns an error if the store of a node of a cluster could not be written because
// the disk was full, and there is room again: the process has to be started again, which its supervisor does.
func (s *Server) AwaitRoom(ctx context.Context) error {
	if !s.clustered {
		<-ctx.Done()
		return nil
	}
	for backoff.Sleep(ctx, reopenEvery) == nil {
		if s.hasRoomAgain() {
			return fmt.Errorf("the disk of %s has room again, and a node of a cluster opens its store only when it starts: start it again, if nothing does by itself (%s)", s.dir, s.log.writeFailure())
		}
	}
	return nil
}

// hasRoomAgain reports whether a write failed because the disk was full, and there is room now.
func (s *Server) hasRoomAgain() bool {
	return outOfSpace(s.log.writeFailure()) && healthyDisk(s.dir, s.budget) == nil
}

// outOfSpace reports whether a failed write found no room.
func outOfSpace(failure string) bool {
	return strings.Contains(failure, "no space left on device") || strings.Contains(failure, "disk quota exceeded")
}

// reopen stops JetStream, checks the store and starts JetStream.
func (r *reopener) reopen() error {
	r.s.claims.Lock() // an update of an account would meet half of it
	defer r.s.claims.Unlock()
	begun := time.Now()
	r.log.Warn("the disk has room again: opening the store again", slog.String("failed", r.s.log.writeFailure()))
	if err := r.s.srv.ShutdownJetStream(); err != nil {
		return fmt.Errorf("stop JetStream: %w", err)
	}
	found, err := storecheck.Inspect(r.s.dir, true)
	if err == nil {
		err = found.MendAudit(true, r.log)
	}
	if err == nil {
		err = found.Err(true)
	}
	if err != nil {
		return err
	}
	r.s.log.forget()
	config := r.config
	if err := r.s.srv.EnableJetStream(&config); err != nil {
		return fmt.Errorf("start JetStream: %w", err)
	}
	if err := checkStore(r.s.srv, r.s.dir); err != nil {
		return err
	}
	free, _ := freeDisk(r.s.dir) // only for the log
	r.log.Warn("the store is open again", slog.Duration("took", time.Since(begun)), slog.String("free", file.SizeText(free)))
	return nil
}
