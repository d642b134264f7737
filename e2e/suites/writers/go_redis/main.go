// go-redis writes known keys while the servers' leaders change, and tells what was acknowledged.
//
// Usage: go_redis plain|cluster NAME HOST:PORT… (what is said: README.md, "writers").
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const workers = 4
const pause = 2 * time.Millisecond

var (
	sayLock sync.Mutex
	phase   atomic.Value
	ends    atomic.Bool
	ctx     = context.Background()
)

func say(words ...any) {
	sayLock.Lock()
	defer sayLock.Unlock()
	fmt.Println(words...)
}

func connect(kind string, doors []string) redis.UniversalClient {
	if kind == "cluster" {
		return redis.NewClusterClient(&redis.ClusterOptions{Addrs: doors, ReadTimeout: 20 * time.Second})
	}
	return redis.NewClient(&redis.Options{Addr: doors[0], ReadTimeout: 60 * time.Second, MaxRetries: -1})
}

type told struct {
	tried, counted, uncounted int
	lost                      []string
}

// attempt returns false where the command failed, and tells why.
func attempt(client redis.UniversalClient, words ...any) (string, bool) {
	reply, err := client.Do(ctx, words...).Result()
	if err != nil {
		say("failed", phase.Load(), words[0], strings.ReplaceAll(err.Error(), "\n", " "))
		return "", false
	}
	return fmt.Sprint(reply), true
}

func write(client redis.UniversalClient, name string, worker int, begun func()) told {
	var t told
	for !ends.Load() {
		number := fmt.Sprint(t.tried)
		key := fmt.Sprintf("%s:%d:%s", name, worker, number)
		t.tried++
		if _, ok := attempt(client, "SET", key, number); !ok {
			t.lost = append(t.lost, number)
		} else if found, ok := attempt(client, "GET", key); ok && found != number {
			say("wrong", key, found)
		}
		if _, ok := attempt(client, "INCR", fmt.Sprintf("%s:count:%d", name, worker)); ok {
			t.counted++
		} else {
			t.uncounted++
		}
		begun()
		time.Sleep(pause)
	}
	return t
}

func main() {
	kind, name, doors := os.Args[1], os.Args[2], os.Args[3:]
	phase.Store("start")
	client := connect(kind, doors)
	defer client.Close()
	var results [workers]told
	var begun, ended sync.WaitGroup
	begun.Add(workers)
	for worker := range workers {
		ended.Go(func() {
			var once sync.Once
			results[worker] = write(client, name, worker, func() { once.Do(begun.Done) })
		})
	}
	begun.Wait()
	say("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		phase.Store(strings.TrimSpace(lines.Text()))
		say("phase", phase.Load())
	}
	ends.Store(true)
	ended.Wait()
	for worker, t := range results {
		lost := "-"
		if len(t.lost) > 0 {
			lost = strings.Join(t.lost, ",")
		}
		say("set", worker, t.tried, lost)
		say("count", worker, t.counted, t.uncounted)
	}
	say("done")
}
