// Prints, for each file of a folder, what google/pprof's profile.ParseData
// says: "ok" or its error, and the sums of the sample values.
//
// SPDX-License-Identifier: Apache-2.0
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/google/pprof/profile"
)

func main() {
	files, err := filepath.Glob(filepath.Join(os.Args[1], "*"))
	if err != nil {
		log.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			log.Fatal(err)
		}
		p, err := profile.ParseData(data)
		if err != nil {
			fmt.Printf("%s\tno\t%q\n", filepath.Base(file), err.Error())
			continue
		}
		totals := make([]int64, len(p.SampleType))
		for _, s := range p.Sample {
			for i, v := range s.Value {
				totals[i] += v
			}
		}
		fmt.Printf("%s\tok\t%d %d %v\n", filepath.Base(file), len(p.Sample), p.Period, totals)
	}
}
