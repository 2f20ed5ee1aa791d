// Runs a real Prometheus that scrapes one target.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { stringify } from 'yaml'
import { findProgram } from './programs.ts'
import { createTemporaryFolder } from './temporary.ts'

export interface StartedPrometheus {
  /** Such as `http://127.0.0.1:41234`. */
  url: string
  /** The lines of its log that are a warning or an error so far. */
  readonly complaints: readonly string[]
  /** The result of a query of the HTTP API, such as `query?query=up`; throws for one that is refused. */
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts on the members it expects and fails when they are absent.
  read(path: string): Promise<any>
}

/** Starts it on a free port in a temporary folder, and waits until it listens. It exits with the test. */
export async function startPrometheus(
  t: Test,
  options: { job: string; target: string; apiKey: string; rules: string }
): Promise<StartedPrometheus> {
  const folder = createTemporaryFolder(t)
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: [options.rules],
    scrape_configs: [
      {
        job_name: options.job,
        authorization: { credentials: options.apiKey },
        static_configs: [{ targets: [options.target] }]
      }
    ]
  }
  writeFileSync(join(folder, 'prometheus.yml'), stringify(config))
  const child = spawn(
    findProgram('prometheus'),
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      '--web.listen-address=127.0.0.1:0'
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] }
  )
  const exited = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGTERM')
    await exited
  })
  const complaints: string[] = []
  const listening = Promise.withResolvers<string>()
  createInterface({ input: child.stderr }).on('line', line => {
    if (/level=(warn|error)/.test(line)) complaints.push(line)
    const address = /msg="Listening on" address=(\S+)/.exec(line)?.[1]
    if (address !== undefined) listening.resolve(address)
  })
  void exited.then(() => listening.reject(new Error(`Prometheus exited early: ${complaints.join('\n')}`)))
  const url = `http://${await listening.promise}`
  return {
    url,
    complaints,
    async read(path) {
      const response = await fetch(`${url}/api/v1/${path}`)
      const { status, data, error } = (await response.json()) as { status: string; data: unknown; error?: string }
      if (status !== 'success') throw new Error(`Prometheus refused ${path}: ${error}`)
      return data
    }
  }
}
