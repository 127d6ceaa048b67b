package jobs

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// notifyChannel carries the IDs of changed jobs, separated by spaces, or one of the words below.
	notifyChannel = "provisiond"
	// keysChanged: forget what is known of API keys.
	keysChanged = "keys"
	// allChanged: too many to name.
	allChanged = "*"

	// notifyInterval is the least time between two NOTIFYs of a process; changes are gathered over it. A
	// NOTIFY per transaction, inside it, costs more than half of the commit rate.
	notifyInterval = 15 * time.Millisecond
	// notifyMaxIDs keeps a payload of 30-byte IDs under PostgreSQL's limit of 8,000 bytes.
	notifyMaxIDs = 250
	// recheckInterval bounds what a lost notification costs.
	recheckInterval = time.Second
	// listenPing is how long the listener trusts a silent connection.
	listenPing = 5 * time.Second
)

// notifier gathers the IDs of changed jobs for the next NOTIFY.
type notifier struct {
	changed chan []string
}

func newNotifier() notifier { return notifier{make(chan []string, 1024)} }

// announce wakes this replica's waiters and hands the IDs to the next NOTIFY. It never blocks: what
// does not fit costs the others one recheckInterval.
func (s *Service) announce(jobIDs []string) {
	if len(jobIDs) == 0 {
		return
	}
	s.hub.wake(jobIDs...)
	select {
	case s.notify.changed <- jobIDs:
	default:
	}
}

// sendNotifications sends what announce gathers until ctx is done.
func (s *Service) sendNotifications(ctx context.Context) {
	var next time.Time // the first change after a quiet time goes out at once
	for {
		var batch []string
		select {
		case <-ctx.Done():
			return
		case batch = <-s.notify.changed:
		}
		gather := time.After(time.Until(next))
		for more := true; more; {
			select {
			case ids := <-s.notify.changed:
				batch = append(batch, ids...)
			case <-gather:
				more = false
			case <-ctx.Done():
				more = false
			}
		}
		next = time.Now().Add(notifyInterval)
		s.sendNotification(ctx, batch)
	}
}

func (s *Service) sendNotification(ctx context.Context, ids []string) {
	payload := allChanged
	if len(ids) <= notifyMaxIDs {
		payload = strings.Join(ids, " ")
	}
	// Also the last batch of a process that stops.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if _, err := s.pool.Exec(ctx, `SELECT pg_notify($1, $2)`, notifyChannel, payload); err != nil {
		s.log.WarnContext(ctx, "notification not sent; waiters see the change at the next re-check", "error", err)
	}
}

// listen wakes this replica's waiters for what other processes changed, until ctx is done. It has a
// connection of its own, outside the pool, and makes it anew when it breaks.
func (s *Service) listen(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.listenOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		s.log.WarnContext(ctx, "listener lost its connection; waiters are re-checked each second", "error", err)
		tick(ctx, time.Second)
	}
}

func (s *Service) listenOnce(ctx context.Context) error {
	connecting, cancel := context.WithTimeout(ctx, listenPing)
	defer cancel()
	conn, err := pgx.ConnectConfig(connecting, s.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(connecting, "LISTEN "+notifyChannel); err != nil {
		return err
	}
	// What changed while nobody listened.
	s.keys.purge()
	s.hub.wakeAll()
	for {
		if err := s.receive(ctx, conn); err != nil {
			return err
		}
	}
}

// receive takes one notification, or pings the connection after a silence.
func (s *Service) receive(ctx context.Context, conn *pgx.Conn) error {
	waiting, cancel := context.WithTimeout(ctx, listenPing)
	n, err := conn.WaitForNotification(waiting)
	cancel()
	if err != nil {
		if ctx.Err() != nil || conn.IsClosed() {
			return err
		}
		pinging, cancel := context.WithTimeout(ctx, listenPing)
		defer cancel()
		return conn.Ping(pinging)
	}
	switch n.Payload {
	case keysChanged:
		s.keys.purge()
	case allChanged:
		s.hub.wakeAll()
	default:
		s.hub.wake(strings.Fields(n.Payload)...)
	}
	return nil
}

// recheck wakes the waiters whose job has changed without a notification, with one query for all,
// until ctx is done.
func (s *Service) recheck(ctx context.Context) {
	for tick(ctx, recheckInterval) {
		ids := s.hub.waitedFor()
		if len(ids) == 0 {
			continue
		}
		rows, err := s.pool.Query(ctx, `SELECT id, version FROM job WHERE id = ANY($1)`, ids)
		if err != nil {
			s.log.WarnContext(ctx, "re-check of waiters failed", "error", err)
			continue
		}
		var id string
		var version int64
		_, err = pgx.ForEachRow(rows, []any{&id, &version}, func() error {
			s.hub.wakeOlder(id, version)
			return nil
		})
		if err != nil {
			s.log.WarnContext(ctx, "re-check of waiters failed", "error", err)
		}
	}
}
