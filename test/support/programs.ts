// Programs that some tests need and that no package of this project brings: chromium, prometheus, promtool, nginx, caddy, haproxy, pgbouncer
// and redis-server, which `.ci/run` installs, helm3, helm4 and compose-go, which it builds, envoy, traefik and hadolint from packages of
// Python, and systemd-analyze.

import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The reason to skip a test that needs the program; false where it is installed, and in CI, where the test then fails. */
export function whyWithout(name: string): string | false {
  return process.env.CI || find(name) !== undefined ? false : `${name} is not installed`
}

/** The reason to leave out what needs the program; false where it is installed. */
export function whyWithoutProgram(name: string): string | false {
  return find(name) === undefined ? `${name} is not installed` : false
}

/** The path of a program in `PATH`. Throws where it is not installed. */
export function findProgram(name: string): string {
  const found = find(name)
  if (found === undefined) throw new Error(`${name} is not installed.`)
  return found
}

function find(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.map(folder => join(folder, name)).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
