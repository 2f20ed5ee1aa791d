#!/usr/bin/env node
// Entry of the gateway: arguments to a command, a command to an exit code. What is imported here also loads on an old Node.
import { readRequiredNode, readVersion } from '../shared/version.ts'
import { enableCompileCache } from './compile-cache.ts'
import { EXIT_CODES } from './lifecycle/exit-codes.ts'
import { catchSignals } from './lifecycle/signals.ts'
import { findNodeProblem } from './node-version.ts'

// Before anything else is loaded, so that no signal finds the default handler.
const signals = catchSignals()

const writeOutput = (text: string) => process.stdout.write(text)
const writeError = (line: string) => process.stderr.write(`llm-gateway: ${line}\n`)
/** A parent process with a channel, such as `startGateway`, learns the address from it. */
const reportListening = (url: string) => {
  if (process.connected) process.send?.({ event: 'listening', url })
}

const nodeProblem = findNodeProblem(process.versions.node, readRequiredNode())
if (nodeProblem !== undefined) {
  writeError(nodeProblem)
  process.exit(EXIT_CODES.wrongConfiguration)
}

enableCompileCache(process.env)
const { parseCommandLine, USAGE } = await import('./plan/command-line.ts')
const writeUsage = () => process.stderr.write(USAGE)
const command = parseCommandLine(process.argv.slice(2))
switch (command.kind) {
  case 'help':
    writeOutput(USAGE)
    break
  case 'version':
    writeOutput(`${readVersion()}\n`)
    break
  case 'usage-error':
    writeUsage()
    writeError(command.message)
    process.exitCode = EXIT_CODES.wrongConfiguration
    break
  case 'new-key': {
    const [{ writeNewKey }, { randomBytes }] = await Promise.all([import('./keys/new-key.ts'), import('node:crypto')])
    writeOutput(writeNewKey(command.name, randomBytes))
    break
  }
  case 'inspect': {
    const { inspectConfiguration } = await import('./preflight.ts')
    const result = inspectConfiguration({ environment: process.env, options: command.options })
    for (const warning of result.warnings) writeError(warning)
    writeOutput(result.output)
    process.exitCode = result.exitCode
    break
  }
  case 'start': {
    const [{ runGateway }, { createChildren }] = await Promise.all([import('./gateway.ts'), import('./children.ts')])
    const sources = { environment: process.env, options: command.options }
    const exitCode = await runGateway(sources, {
      version: readVersion(),
      signals,
      createChildren,
      stdout: process.stdout,
      writeError,
      writeUsage,
      reportListening,
      onUncaughtError: listener => process.on('uncaughtException', listener),
      exit: process.exit
    })
    // Exits for good: an open handle of a library must not keep a stopped gateway in the process list.
    process.exit(exitCode)
  }
}
