// A program that is worth profiling: it leaks memory, burns CPU and contends
// on a mutex. Started by ./dev run, and by the tests.
//
// SPDX-License-Identifier: Apache-2.0
package main

import (
	"crypto/sha256"
	"fmt"
	"log"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
	"sort"
	"strings"
	"sync"
	"time"
)

var (
	mu     sync.Mutex
	leaked [][]byte
	counts = map[string]int{}
)

func leak() {
	for {
		mu.Lock()
		leaked = append(leaked, make([]byte, 16<<10))
		if len(leaked) > 4000 {
			leaked = nil
		}
		mu.Unlock()
		time.Sleep(20 * time.Millisecond)
	}
}

func contend() {
	for {
		words := make([]string, 0, 2000)
		for i := 0; i < 2000; i++ {
			words = append(words, fmt.Sprintf("word-%d", i*7919%1000))
		}
		sort.Strings(words)
		mu.Lock()
		for _, w := range words {
			counts[strings.ToUpper(w)]++
		}
		mu.Unlock()
		time.Sleep(30 * time.Millisecond)
	}
}

func burn() {
	block := make([]byte, 1<<16)
	for {
		for i := 0; i < 200; i++ {
			sum := sha256.Sum256(block)
			copy(block, sum[:])
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: leakapp HOST:PORT")
	}
	runtime.SetBlockProfileRate(10000)
	runtime.SetMutexProfileFraction(5)
	go leak()
	go burn()
	for i := 0; i < 4; i++ {
		go contend()
	}
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
