//! Tests of the program with the operating system: the system calls of a reader, and full or read-only disks.

use std::process::{Command, Stdio};

use crate::program::{Folder, Ran, bytes_below};

/// Runs a shell script in the folder in a namespace that permits mounting. `$T` is the program. Returns `None` if
/// mounting is not permitted.
fn with_mounts(folder: &Folder, script: &str) -> Option<Ran> {
    let may = Command::new("unshare")
        .args(["-rm", "mount", "-t", "tmpfs", "none", "/mnt"])
        .stderr(Stdio::null())
        .status();
    if !may.is_ok_and(|status| status.success()) {
        return None;
    }
    let mut command = Command::new("unshare");
    command
        .args(["-rm", "sh", "-c", script])
        .current_dir(folder.path("."))
        .env_clear()
        .env("HOME", folder.path("home"))
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("T", env!("CARGO_BIN_EXE_treering"));
    Some(Ran::of(&command.output().unwrap()))
}

#[test]
fn a_full_disk_is_told_and_loses_nothing() {
    let folder = Folder::new();
    folder.write("disk/.keep", "");
    let script = r#"
        mount -t tmpfs -o size=400k none disk || exit 90
        cd disk
        $T init --store s >/dev/null 2>&1 || exit 91
        $T put a --kind k --content kept --store s >/dev/null 2>&1 || exit 92
        dd if=/dev/zero of=filler bs=1k 2>/dev/null
        printf '%300000s' x | $T put big --kind k --content - --store s --json >/dev/null; echo "put $?"
        $T get a --store s --json; echo "get $?"
        $T verify --store s --json; echo "verify $?"
        rm -f filler
        $T put b --kind k --content after --store s >/dev/null 2>&1; echo "after $?"
        $T verify --store s --json; echo "verify $?"
    "#;
    let Some(ran) = with_mounts(&folder, script) else {
        println!("skipped: this user may not mount here");
        return;
    };
    assert_eq!(ran.code, 0, "{ran:?}");
    let told = |line: &str| ran.out.lines().any(|found| found == line);
    assert!(told("put 6") && told("get 0") && told("after 0"), "{ran:?}");
    assert_eq!(ran.out.matches("verify 0").count(), 2, "{ran:?}");
    assert!(ran.out.contains("\"content\":\"kept\""), "{ran:?}");
    assert!(
        ran.err.contains("\"code\":\"io\"") && ran.err.contains("free disk space"),
        "{ran:?}"
    );
}

#[test]
fn a_read_only_mount_is_read_and_not_written() {
    let folder = Folder::with_store();
    folder.put("a", "kept");
    let script = r#"
        mount --bind .treering .treering && mount -o remount,ro,bind .treering || exit 90
        $T get a --json; echo "get $?"
        $T verify >/dev/null; echo "verify $?"
        $T put b --kind k --json; echo "put $?"
        $T snapshot --json; echo "snapshot $?"
    "#;
    let before = bytes_below(&folder.store());
    let Some(ran) = with_mounts(&folder, script) else {
        println!("skipped: this user may not mount here");
        return;
    };
    assert_eq!(ran.code, 0, "{ran:?}");
    for line in ["get 0", "verify 0", "put 6", "snapshot 6"] {
        assert!(ran.out.lines().any(|found| found == line), "{line}: {ran:?}");
    }
    assert!(ran.err.contains("writable disk"), "the error has a hint: {ran:?}");
    assert_eq!(bytes_below(&folder.store()), before);
}

#[test]
fn a_reader_asks_the_system_for_nothing_that_writes() {
    let folder = Folder::with_store();
    folder.put("a", "x");
    folder.json(&["snapshot", "s"]);
    folder.put("a", "y");
    let calls = "trace=open,openat,openat2,creat,truncate,ftruncate,fallocate,unlink,unlinkat,rename,renameat,\
                 renameat2,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,pwrite64,pwritev,fsync,fdatasync,flock";
    for verb in [
        &["get", "a"][..],
        &["list"],
        &["head"],
        &["snapshots"],
        &["log"],
        &["log", "--refs"],
        &["history", "a"],
        &["diff", "s"],
        &["prove", "a"],
        &["contains", "01234567"],
        &["verify"],
        &["verify", "--at", "s"],
        &["export"],
        &["stats"],
        &["rollback", "s", "--dry-run"],
        &["get", "a", "--degraded"],
    ] {
        let trace = folder.path("trace");
        let status = Command::new("strace")
            .args(["-f", "-qq", "-e", calls, "-o"])
            .arg(&trace)
            .arg(env!("CARGO_BIN_EXE_treering"))
            .args(verb)
            .current_dir(folder.path("."))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        let Some(text) = status.ok().and_then(|_| std::fs::read_to_string(&trace).ok()) else {
            println!("skipped: strace is missing, or may not trace");
            return;
        };
        assert!(
            text.contains("O_RDONLY"),
            "strace must record at least one opened file for {verb:?}: {text}"
        );
        for line in text
            .lines()
            .filter(|line| !line.contains("+++") && !line.contains("---"))
            // strace splits a call if another thread's call interrupts it. The flags are on the first part.
            .filter(|line| !line.contains(" resumed>"))
        {
            let reads = line.contains("O_RDONLY") && !line.contains("O_CREAT") && !line.contains("O_TRUNC");
            assert!(reads, "{verb:?}: {line}");
        }
    }
}
