// Which test files can share one process with others of their folder.

import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const IMPORT = /^(?:import|export)\b[^'"]*?\bfrom '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gm
const STARTS_PROCESSES = new Set(['node:child_process', 'execa', 'playwright-core'])
/** It takes types and pure functions from modules that start processes. */
const STARTS_NONE = '/support/in-process-gateway.ts'

/**
 * True for files that begin with "// Alone:" and a reason, and for end-to-end tests that import, directly or through other files of the
 * tests, what starts processes: such a file waits most of the time, so that others can run beside it.
 */
export function isAlone(file: string): boolean {
  return readFileSync(file, 'utf8').startsWith('// Alone: ') || (file.includes('/end-to-end/') && startsProcesses(file))
}

function startsProcesses(file: string, seen = new Set<string>()): boolean {
  if (seen.has(file)) return false
  seen.add(file)
  return importsOf(file).some(specifier => {
    if (!specifier.startsWith('.')) return STARTS_PROCESSES.has(specifier)
    const imported = join(dirname(file), specifier)
    const isOfTests = imported.includes('/test/') && imported.endsWith('.ts') && existsSync(imported)
    return isOfTests && !imported.endsWith(STARTS_NONE) && startsProcesses(imported, seen)
  })
}

function importsOf(file: string): string[] {
  return [...readFileSync(file, 'utf8').matchAll(IMPORT)].flatMap(([, one, two, three]) => one ?? two ?? three ?? [])
}
