// Package jobs is the core of provisiond: jobs, questions, leases, and all of its SQL.
//
// # Who holds the truth
//
// The tables do. A row of River's is only a wake-up, a ticket {job, epoch}: losing one costs a sweep
// interval, and an old one does nothing. Nothing that a request depends on is kept in memory, so any
// replica serves any request and any worker runs any job.
//
// # The fence
//
// A job's epoch is raised whenever the right to run it passes on. A worker claims a job with the
// epoch of its ticket and renews its lease by the database's clock; each of its writes is made under
// a lock on the job's row and only while the epoch is still its own (lockHeld). River's attempt
// number cannot serve as a fence: it repeats.
//
// # Order of locks
//
// Job before instance, always.
//
// # Transactions
//
// An exported method opens a transaction (write), unexported ones take it. No transaction is open
// during a driver's call. The tickets go in last, right before the commit, because River notifies
// inside the transaction; our own notifications go out after it.
package jobs
