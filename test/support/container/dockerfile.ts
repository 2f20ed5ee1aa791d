// Reads a Dockerfile as far as the tests need it: stages, instructions, flags, and arguments in exec form. It is no general parser: what it
// does not know raises an error.

export interface Instruction {
  readonly name: string
  /** Such as `from: 'build'` of `--from=build`. */
  readonly flags: Readonly<Record<string, string>>
  /** The rest of the instruction, with continued lines joined. */
  readonly text: string
}

export interface Stage {
  /** The image that it begins with. */
  readonly base: string
  readonly name: string | undefined
  readonly instructions: readonly Instruction[]
}

const KNOWN = new Set(
  'ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL RUN STOPSIGNAL USER VOLUME WORKDIR'.split(' ')
)

/** The stages of a Dockerfile, in order. Variables of `ARG` are left as they stand. */
export function readDockerfile(source: string): Stage[] {
  const stages: Array<Stage & { instructions: Instruction[] }> = []
  const lines = source.replace(/^\s*#.*\n/gm, '').replace(/\\\n\s*/g, '')
  for (const line of lines.split('\n').filter(line => line.trim() !== '')) {
    const instruction = readInstruction(line)
    if (instruction.name === 'FROM') {
      const [base = '', as, name] = instruction.text.split(/\s+/)
      stages.push({ base, name: as?.toUpperCase() === 'AS' ? name : undefined, instructions: [] })
    } else stages.at(-1)?.instructions.push(instruction)
  }
  return stages
}

function readInstruction(line: string): Instruction {
  const [, name = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
  if (!KNOWN.has(name)) throw new Error(`An unknown instruction in the Dockerfile: ${line}`)
  const flags: Record<string, string> = {}
  const text = rest.replace(/^(?:--[a-z-]+=\S+\s+)+/, all => {
    for (const [, flag = '', value = ''] of all.matchAll(/--([a-z-]+)=(\S+)/g)) flags[flag] = value
    return ''
  })
  return { name, flags, text }
}

/** The arguments of an instruction in exec form. Throws for the form that needs a shell. */
export function readExecForm(text: string): string[] {
  const parsed: unknown = text.startsWith('[') ? JSON.parse(text) : undefined
  if (!Array.isArray(parsed)) throw new Error(`Not in exec form, which needs no shell: ${text}`)
  return parsed.map(String)
}

/** The pairs of `ENV` and `LABEL`. */
export function readPairs(text: string): Record<string, string> {
  const pairs: Record<string, string> = {}
  for (const [, name = '', quoted, bare] of text.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S+))/g))
    pairs[name] = quoted ?? bare ?? ''
  return pairs
}
