// The client's own fields for the members of a function that not every wire has.

import type { FunctionTool, NormalizedRequest, OptionalToolMember } from '../../../normalized/index.ts'
import { joinPath } from './field.ts'

/** The members that ask for something, with the names that the client gives them in the declaration at `path`. */
export function writeMemberPaths(
  tool: Pick<FunctionTool, OptionalToolMember>,
  path: string,
  names: Readonly<Record<OptionalToolMember, string>>
): Pick<FunctionTool, 'memberPaths'> {
  const paths: FunctionTool['memberPaths'] = {}
  // Not strict is what a wire without the member does.
  if (tool.strict === true) paths.strict = joinPath(path, names.strict)
  if (tool.fewShotExamples !== undefined) paths.fewShotExamples = joinPath(path, names.fewShotExamples)
  if (tool.returnParameters !== undefined) paths.returnParameters = joinPath(path, names.returnParameters)
  return Object.keys(paths).length === 0 ? {} : { memberPaths: paths }
}

/** The client's fields for those of these members that the functions of a request have: what a wire without them leaves out. */
export function listMemberPaths(
  { tools }: Pick<NormalizedRequest, 'tools'>,
  members: readonly OptionalToolMember[]
): string[] {
  return tools.flatMap(tool => {
    const paths = tool.type === 'function' ? tool.memberPaths : undefined
    return paths === undefined ? [] : members.flatMap(member => paths[member] ?? [])
  })
}
