// Package providertest is the one conformance suite that every driver passes against a real back
// end. It is also the driver author's checklist: each subtest states one promise of package provider.
//
// A driver's test describes its back end in a [Harness] and calls [Run]:
//
//	func TestConformance(t *testing.T) {
//		providertest.Run(t, providertest.Harness{Driver: driver, Connect: login, Objects: list, …})
//	}
//
// The suite plays provisiond's part. It keeps the driver's checkpoints, follows its Pending delays,
// answers its questions, and tries again after a retryable error. And it dies a lot: a "stop" is a
// call of Checkpoint or Report, and at each stop of each method the suite lets the worker die in both
// ways that a worker can, then calls again as the next worker would:
//
//   - superseded: another worker holds the job. The stop returns an error and stores nothing. The
//     driver returns that error and makes no outside call.
//   - killed: the stop stores its state, and the context ends with it. The driver makes no outside
//     call and returns the context's error.
//
// Whatever appears outside must have been announced by a Checkpoint of the same call. In the end exactly
// the objects of one undisturbed run must exist, by the back end's own account and by the driver's Find.
// To be killed between an outside call and the next stop is the same as to be superseded at that next
// stop; after the last stop it is to lose the call's answer, and the suite does that as well. So every place is
// covered where one crash can be told from another.
//
// It calls as provisiond does. A start is Provision and Bind in one go, and its repetition is both again; a
// rotation is Bind of a second binding and, later, Unbind of the first.
//
// Beside the objects there is what an Update changes: the harness looks at that, and asks for the very same
// after each call that must change nothing, such as Check and a refused Update. A Check knows the bindings
// that should exist. One that is gone is [provider.Missing], and what is left of one that should not exist
// is [provider.Foreign].
//
// An error of the driver's own making is a [provider.Error]. When the context is done it is the
// context's error and no *provider.Error, so that provisiond does not take an end for a failure.
package providertest
