// Package exo drives exo clusters: it places a model in each way that the
// cluster offers, and measures it through exo's bench endpoint, as exo-bench
// does.
//
// The way of a measurement, and where each step lives:
//
//  1. [Driver.Targets] finds the model and asks for its placements (driver.go,
//     model.go); which of them are measured, and in which order, are
//     exo-bench's rules (placement.go, instance.go). It sends GETs only.
//  2. Describe names the nodes as people do, since their ids change at every
//     start, and keeps a snapshot of the cluster (target.go, cluster.go).
//  3. Open sees to the download (download.go), posts the instance and waits
//     for all its runners (place.go); then a short request wakes them up, and
//     tells which engine runs and how it samples (probe.go).
//  4. The measured call is a chat in the dialect of package openai (engine.go,
//     stream.go). exo's statistics come with it.
//  5. Before each batch, what other clients still run on the cluster is waited
//     for, and an answer that is no stream is cancelled by its id when nobody
//     waits for it any more (tasks.go): exo would go on with it.
//     Only what is certainly ours is: another client may send the same words.
//     Where the model has other instances, it is looked which one each request
//     goes to (route.go): exo's requests name a model, and no instance.
//  6. The nodes have sensors (sensors.go).
//  7. Close deletes the instance.
//
// Only instances that this package created are ever deleted. exo-bench deletes
// every instance of the cluster before each placement, whoever uses it.
//
// # What exo's figures are
//
// The batch engine, which is the default, states (n − 1) / span as
// generation_tps, and the prompt less one token over the time to the first
// token, a discarded decode step included, as prompt_tps. The sequential
// engine (exo --no-batch) states n / span, counts one prompt token more, and
// never admits a hit of its prefix cache; it works on one request at a time.
// Its targets are named "exo-sequential". The peak memory is a high-water mark of the runner's
// process, not of the request, and 7.4 % too high. exo bills the power of all
// nodes that it knows, whether they serve the request or not.
package exo
