package v1alpha1_test

import (
	"strings"
	"testing"
)

const validFence = `
kind: Fence
metadata: {name: valid}
spec:
  holder: {podName: controlee-7d9c-x, podUID: 5e9c26fb-2d35-4bb1-9b3d-1c1b8f8d5f0e}
  epoch: 7
`

func TestFence(t *testing.T) {
	t.Parallel()
	testCreate(t, validFence, map[string]admission{
		"valid":          {reason: "all fields in use", patch: `{}`},
		"as made first":  {reason: "the chart makes it without a spec", patch: `spec: null`},
		"no holder":      {reason: "nobody may write", patch: `spec: {holder: null}`},
		"negative epoch": {reason: "it counts from 0", patch: `spec: {epoch: -1}`, want: "spec.epoch in body should be greater than or equal to 0"},
		"endless epoch":  {reason: "nobody could follow", patch: `spec: {epoch: 9223372036854775807}`, want: "spec.epoch in body should be less than or equal to 1000000000000"},
		"no UID":         {reason: "a Pod made again must be told apart", patch: `spec: {holder: {podUID: null}}`, want: "spec.holder.podUID: Required value"},
		"empty UID":      {reason: "a Pod made again must be told apart", patch: `spec: {holder: {podUID: ""}}`, want: "spec.holder.podUID"},
		"empty name":     {reason: "a Pod has one", patch: `spec: {holder: {podName: ""}}`, want: "spec.holder.podName"},
		"unknown field":  {reason: "strict", patch: `spec: {a: b}`, want: `unknown field "spec.a"`},
	})
}

func TestFenceUpdate(t *testing.T) {
	t.Parallel()
	const back = "epoch never goes back, and up by one at a time: read the Fence again and write epoch + 1"
	const change = "a change of holder needs a higher epoch: read the Fence again and write epoch + 1"
	testUpdate(t, strings.ReplaceAll(validFence, "name: valid", "name: held"), "", map[string]admission{
		"nothing":        {reason: "a repeated write", patch: `{}`},
		"takeover":       {reason: "what a new leader writes", patch: `spec: {holder: {podName: b, podUID: c}, epoch: 8}`},
		"same again":     {reason: "a container that restarted", patch: `spec: {epoch: 8}`},
		"release":        {reason: "a leader that goes", patch: `spec: {holder: null, epoch: 8}`},
		"far ahead":      {reason: "nobody could follow for ever", patch: `spec: {epoch: 9}`, want: back},
		"lower epoch":    {reason: "an old leader", patch: `spec: {epoch: 6}`, want: back},
		"no epoch":       {reason: "0 is lower", patch: `spec: {epoch: null}`, want: back},
		"no spec":        {reason: "0 is lower", patch: `spec: null`, want: back},
		"other Pod":      {reason: "two leaders of one epoch", patch: `spec: {holder: {podName: b}}`, want: change},
		"other UID":      {reason: "a Pod of the same name made again", patch: `spec: {holder: {podUID: c}}`, want: change},
		"holder removed": {reason: "its epoch would come again", patch: `spec: {holder: null}`, want: change},
	})
}

func TestFenceFirstHolder(t *testing.T) {
	t.Parallel()
	testUpdate(t, "kind: Fence\nmetadata: {name: fresh}\n", "", map[string]admission{
		"first":        {reason: "the first leader", patch: `spec: {holder: {podName: b, podUID: c}, epoch: 1}`},
		"same epoch 0": {reason: "a holder that nobody counted", patch: `spec: {holder: {podName: b, podUID: c}}`, want: "a change of holder needs a higher epoch"},
	})
}

func TestFenceStatus(t *testing.T) {
	t.Parallel()
	testUpdate(t, strings.ReplaceAll(validFence, "name: valid", "name: probed"), "status", map[string]admission{
		"accepted": {reason: "what a leader writes through the fence", patch: `status: {epoch: 7, acceptedAt: "2030-01-01T00:00:00.123456Z"}`},
		"no time":  {reason: "a time is a time", patch: `status: {epoch: 7, acceptedAt: now}`, want: "must be of type date-time"},
	})
}
