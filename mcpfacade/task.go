package mcpfacade

import (
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/provisiond/provisiond/client"
)

// task is a job as the tasks extension shows it.
type task struct {
	mcp.ResultBase
	ResultType    string    `json:"resultType"`
	TaskID        string    `json:"taskId"`
	Status        string    `json:"status"`
	StatusMessage string    `json:"statusMessage,omitempty"`
	CreatedAt     time.Time `json:"createdAt"`
	LastUpdatedAt time.Time `json:"lastUpdatedAt"`
	// TTLMs is null: a task lives as long as its job, and for weeks after its end.
	TTLMs          *int64 `json:"ttlMs"`
	PollIntervalMs int    `json:"pollIntervalMs,omitempty"`
	// InputRequests is there while input is required, and empty where the caller cannot be asked:
	// StatusMessage then has the questions, with the pages to answer them on.
	InputRequests mcp.InputRequestMap `json:"inputRequests,omitzero"`
	Result        *taskOutcome        `json:"result,omitempty"`
	Error         *jsonrpc.Error      `json:"error,omitempty"`
}

// taskOutcome is what the tool call would have returned, had it waited for the job.
type taskOutcome struct {
	ResultType        string        `json:"resultType"`
	Content           []mcp.Content `json:"content"`
	StructuredContent any           `json:"structuredContent"`
	IsError           bool          `json:"isError"`
}

// taskStatus maps one to one. A failed job is a completed task with an error of the tool: the status
// "failed" is for errors of the protocol; see crashed.
var taskStatus = map[client.JobState]string{
	client.JobStatePending:       "working",
	client.JobStateAwaitingInput: "input_required",
	client.JobStateSucceeded:     "completed",
	client.JobStateFailed:        "completed",
	client.JobStateCanceled:      "cancelled",
}

func newTask(resultType string, job *client.Job) *task {
	status := taskStatus[job.State]
	if crashed(job) {
		status = "failed"
	}
	return &task{
		ResultType: resultType, TaskID: job.ID, Status: status, StatusMessage: statusMessage(job),
		CreatedAt: job.CreatedAt, LastUpdatedAt: job.UpdatedAt, PollIntervalMs: job.PollAfterMs,
	}
}

// crashed tells that a job failed by a panic. A tool call that panics is answered with an error of the
// protocol, and so is the task.
func crashed(job *client.Job) bool {
	return job.State == client.JobStateFailed && job.Error != nil && job.Error.Code == "provider_panic"
}

// statusMessage is for a person, to whom a host shows it: it speaks of no tools.
func statusMessage(job *client.Job) string {
	switch {
	case job.State == client.JobStateFailed && job.Error != nil:
		return job.Error.Message
	case job.State != client.JobStateAwaitingInput:
		return job.Progress.Message
	}
	var questions []string
	for _, q := range job.Questions {
		if q.State == client.Open {
			questions = append(questions, fmt.Sprintf("%s (answer at %s)", q.Message, q.AnswerURL))
		}
	}
	return strings.Join(questions, "\n")
}
