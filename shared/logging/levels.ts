// The numbers that pino gives its levels.
export const DEBUG_LEVEL = 20
export const INFO_LEVEL = 30
export const WARN_LEVEL = 40
