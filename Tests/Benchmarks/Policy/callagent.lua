-- callagent.lua: the server that is measured; run.sh puts `listen` and `state_dir` before it

answer_for = { "support" }
plugins    = { "refuse" }
