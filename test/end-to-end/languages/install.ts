// Installs the SDKs of other languages from their package registries and builds the programs with
// the checks: `npm run languages`, or `npm run languages -- go` for one. A language whose toolchain
// is missing is left out in words. Exits with 1 where an installation fails.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { whyWithoutProgram } from '../../support/programs.ts'
import { findToolchain, type Toolchain, toolchains } from './toolchains.ts'

const named = process.argv.slice(2)
const chosen = named.length === 0 ? toolchains : named.map(findToolchain)
if (chosen.filter(one => !install(one)).length > 0) process.exitCode = 1

/** True when the language can run or its toolchain is missing. */
function install({ language, programs, folder, build }: Toolchain): boolean {
  const missing = programs.map(whyWithoutProgram).find(reason => reason !== false)
  if (missing !== undefined) {
    process.stdout.write(`${language}: left out, ${missing}\n`)
    return true
  }
  for (const [program, ...parameters] of build) {
    const path = program.includes('/') ? join(folder, program) : program
    const { status, error } = spawnSync(path, parameters, { cwd: folder, stdio: 'inherit' })
    if (status !== 0) {
      process.stdout.write(`${language}: ${program} failed (${error?.message ?? `status ${status}`})\n`)
      return false
    }
  }
  process.stdout.write(`${language}: installed\n`)
  return true
}
