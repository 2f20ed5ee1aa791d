// Plays the start-up sequence of a supervisor that runs the gateway as its sidecar, against the packed artifact: pack, install, preflight,
// start, /health, /ready, /bridge/models, effective capabilities, matching revisions, traffic, SIGTERM. `npm run sidecar`.
//
// It prints a line for each step and exits with 1 at the first that does not hold. Without flags it writes a profile of its own whose
// provider is the embedded upstream of the artifact. `--config <file> --model <alias>` takes a profile file of yours, whose credentials
// are in the environment; then traffic is sent to its providers only with `--traffic`. `--artifact <tarball>` packs nothing.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { playSequence, type SequenceOptions } from './sequence.ts'
import { StepFailure } from './step-failure.ts'

const { values: flags } = parseArgs({
  options: {
    artifact: { type: 'string' },
    config: { type: 'string' },
    model: { type: 'string' },
    traffic: { type: 'boolean', default: false }
  }
})
if ((flags.config === undefined) !== (flags.model === undefined)) {
  console.error('--config and --model belong together.')
  process.exit(2)
}

const folder = mkdtempSync(join(tmpdir(), 'gateway-sidecar-'))
try {
  // Only this user may read the profile and the log of the gateway.
  const protectedFolder = join(folder, 'protected')
  mkdirSync(protectedFolder, { mode: 0o700 })
  await playSequence({
    checkout: join(import.meta.dirname, '..', '..'),
    folder,
    protectedFolder,
    ...(flags.artifact === undefined ? {} : { artifact: resolve(flags.artifact) }),
    ...readOwnProfile(),
    writeProfile: (name, text) => {
      const path = join(protectedFolder, name)
      writeFileSync(path, text, { mode: 0o600 })
      return path
    },
    report: line => console.log(line)
  })
} catch (error) {
  console.log(`FAILED    ${error instanceof StepFailure ? error.message : String(error)}`)
  process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
}

function readOwnProfile(): Pick<SequenceOptions, 'own'> {
  const { config, model, traffic } = flags
  return config === undefined || model === undefined ? {} : { own: { config: resolve(config), model, traffic } }
}
