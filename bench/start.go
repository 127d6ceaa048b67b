package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/provisiond/provisiond/jobs"
	"github.com/provisiond/provisiond/migrations"
)

// plainStart is what a client sends that asks for nothing special: the binding is the API's default.
func plainStart() jobs.StartRequest {
	return jobs.StartRequest{Service: "thing", Plan: "plain", Bind: true}
}

func (s *stage) start(ctx context.Context, o options) (ratio, error) {
	base, err := s.bareStart(ctx)
	if err != nil {
		return ratio{}, err
	}
	return compare(ctx, o, ratio{name: "start", wanted: 0.6}, func(ctx context.Context, _ int) error {
		_, err := s.first.Start(ctx, s.caller, plainStart())
		return err
	}, base)
}

// bareArgs are as large as a ticket's.
type bareArgs struct {
	JobID string `json:"job_id"`
	Epoch int64  `json:"epoch"`
}

// Kind implements river.JobArgs.
func (bareArgs) Kind() string { return "bare" }

// bareStart is a transaction with one row, which is about as large as a job's, and a River job.
func (s *stage) bareStart(ctx context.Context) (load, error) {
	_, err := s.pool.Exec(ctx, `
		CREATE TABLE IF NOT EXISTS bare_job (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, state text NOT NULL,
			data jsonb NOT NULL, created_at timestamptz NOT NULL DEFAULT clock_timestamp())`)
	if err != nil {
		return nil, err
	}
	client, err := river.NewClient(riverpgxv5.New(s.pool), &river.Config{
		Schema: migrations.RiverSchema, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, _ int) error {
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			var id int64
			err := tx.QueryRow(ctx, `INSERT INTO bare_job (state, data) VALUES ('pending', $1) RETURNING id`, bareData).Scan(&id)
			if err != nil {
				return err
			}
			args := bareArgs{JobID: fmt.Sprintf("job_%026d", id), Epoch: 1}
			_, err = client.InsertTx(ctx, tx, args, &river.InsertOpts{Queue: "bare", MaxAttempts: 3})
			return err
		})
	}, nil
}

// bareData makes a row as large as a job's.
const bareData = `{"tenant": "tnt_01h455vb4pex5vsknk084sn02q", "instance": "inst_01h455vb4pex5vsknk084sn02q",
	"binding": "bind_01h455vb4pex5vsknk084sn02q", "operation": "provision", "service": "thing", "plan": "plain",
	"driver": "instant", "phase": "queued", "progress": {"step": "queued", "message": "Queued."}, "labels": {}}`
