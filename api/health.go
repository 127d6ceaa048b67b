package api

import (
	"context"
	"errors"
	"time"

	"github.com/provisiond/provisiond/jobs"
)

// readyTimeout keeps the answer of /health/ready under the two seconds that are promised.
const readyTimeout = 1500 * time.Millisecond

// GetLive implements StrictServerInterface.
func (s *server) GetLive(context.Context, GetLiveRequestObject) (GetLiveResponseObject, error) {
	return GetLive200JSONResponse{Status: Ok}, nil
}

// GetReady implements StrictServerInterface.
func (s *server) GetReady(ctx context.Context, _ GetReadyRequestObject) (GetReadyResponseObject, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	err := s.service.Ready(ctx)
	if err == nil {
		return GetReady200JSONResponse{Status: Ok}, nil
	}
	answer := GetReady503JSONResponse{Status: Unavailable}
	if errors.Is(err, jobs.Draining) {
		answer.Status = Draining
	}
	if refusal, ok := errors.AsType[*jobs.Error](err); ok {
		answer.Detail = &refusal.Detail
	}
	return answer, nil
}
